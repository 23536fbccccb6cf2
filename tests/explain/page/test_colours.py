"""The colours of the page can be told apart by readers who see no red, no green or no blue."""

import re
from itertools import combinations

import numpy as np
import pytest

from wengert.explain.templates import read_asset

MEANINGS = ("forward", "back", "leaf")
SIGHT = {
    "trichromacy": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""What is seen of linear red, green and blue (Machado, Oliveira and Fernandes, 2009)."""
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)
LEAST = 15.0
"""The least distance in CIELAB; about 2 can just be seen."""


def lab(rgb, sight):
    """Coordinates in CIELAB of a colour with channels up to 255."""
    channels = np.asarray(rgb) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(SIGHT[sight] @ linear, 0.0, 1.0) / WHITE
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first, second, sight):
    return np.linalg.norm(lab(first, sight) - lab(second, sight))


def palette(scheme):
    """The colours that have a meaning, from the style sheet."""
    found = re.findall(r"--(\w+): light-dark\(#(\w{6}), #(\w{6})\);", read_asset("wengert.explain.page", "page.css"))
    return {name: list(bytes.fromhex(light if scheme == "light" else dark)) for name, light, dark in found}


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_with_a_meaning_differ(scheme, sight):
    colours = {name: palette(scheme)[name] for name in MEANINGS}
    for first, second in combinations(MEANINGS, 2):
        assert distance(colours[first], colours[second], sight) > LEAST, (first, second)


@pytest.mark.parametrize("sight", SIGHT)
def test_signs_of_heat_maps_differ(sight):
    ends = re.findall(r"(?:COLD|WARM) = \[(\d+), (\d+), (\d+)\]", read_asset("wengert.explain.page", "heat.js"))
    cold, warm = np.array(ends, dtype=int)
    assert distance(cold, warm, sight) > 3 * LEAST


def test_the_simulation_confuses_what_it_should():
    """Red and green are far apart, but not without the cones for one of them."""
    red, green = (200, 60, 40), (110, 115, 30)
    assert distance(red, green, "trichromacy") > LEAST
    assert distance(red, green, "deuteranopia") < distance(red, green, "trichromacy") / 2
