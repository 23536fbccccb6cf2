"""The disk cache: stored entries are found, but none that is damaged, unsafe, or beyond the allowed size."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wengert.compiler.machine import cache

posix = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
KEY, DATA = "0123456789abcdef", b"machine code" * 100


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own folder, not there yet, and no memory of other tests."""
    folder = tmp_path / "deep" / "cache"
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(folder))
    monkeypatch.delenv("WENGERT_CACHE_SIZE", raising=False)
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(cache, "_stored", {})
    return folder


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_round_trip(folder):
    assert cache.load(KEY) is None
    assert cache.is_used()
    assert cache.is_empty()
    assert not folder.exists()
    for data in (DATA, b"", bytes(range(256)) * 5000):
        cache.store(KEY, data)
        assert cache.load(KEY) == data
        assert only_file(folder).suffix == ".wengert"
    assert not cache.is_empty()
    assert cache.load("ff") is None
    assert cache.info() == (folder, 1, only_file(folder).stat().st_size)


def test_what_is_stored_later_is_there_for_whoever_looks(folder, monkeypatch):
    may_go_on = threading.Event()

    def find_key() -> str:
        assert may_go_on.wait(60)
        return KEY

    cache.store_later(find_key, DATA)
    cache.store_later(lambda: "ff", DATA)
    cache.store_later(lambda: None, DATA)
    assert not folder.exists()
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")  # it was meant for the folder of then
    may_go_on.set()
    assert cache.is_empty()
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(folder))
    assert cache.info().entries == 2
    assert cache.load(KEY) == cache.load("ff") == DATA


def test_what_is_stored_later_is_there_after_the_end_of_a_process(folder):
    program = f"""
import time
from wengert.compiler.machine import cache

def find_key():
    time.sleep(0.1)
    return {KEY!r}

cache.store_later(find_key, b"code")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=300)
    assert cache.load(KEY) == b"code"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_waits_for_what_is_stored_later(folder):
    may_go_on = threading.Timer(0.1, lambda: None)
    may_go_on.start()
    cache.store_later(lambda: (may_go_on.join(), KEY)[1], DATA)
    child = os.fork()
    if child == 0:
        os._exit(int(cache.load(KEY) != DATA))
    assert os.waitpid(child, 0)[1] == 0


@posix
def test_folder_and_files_are_private(folder):
    before = os.umask(0)
    try:
        cache.store(KEY, DATA)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert only_file(folder).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("key", ["", "../../x", "xyz", "0/1", "0.", "0\0"])
def test_keys_are_hexadecimal(key):
    with pytest.raises(ValueError, match="hexadecimal"):
        cache.load(key)
    with pytest.raises(ValueError, match="hexadecimal"):
        cache.store(key, DATA)


@pytest.mark.parametrize("length", [0, 1, 51, 52, 53, 200, -1])
def test_truncated(folder, length):
    cache.store(KEY, DATA)
    path = only_file(folder)
    path.write_bytes(path.read_bytes()[:length])
    assert cache.load(KEY) is None
    assert not path.exists()
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


def test_any_flipped_bit_or_added_byte(folder):
    short = b"code"
    cache.store(KEY, short)
    path = only_file(folder)
    good = path.read_bytes()
    bad = [good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1 :] for i in range(len(good))]
    for content in [*bad, good + b"\0", b"\0" * len(good), hashlib.sha256(short).digest()]:
        path.write_bytes(content)
        assert cache.load(KEY) is None
        assert not path.exists()
    path.write_bytes(good)
    assert cache.load(KEY) == short


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_folder_that_others_can_write_to(folder, mode):
    cache.store(KEY, DATA)
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="chmod 700") as caught:
        assert cache.load(KEY) is None
    assert len(caught) == 1
    cache.store("ff", DATA)  # without a second warning, which would be an error
    assert cache.load(KEY) is None
    assert str(folder) in str(caught[0].message)
    assert len(list(folder.iterdir())) == 1
    folder.chmod(0o755)
    assert cache.load(KEY) == DATA


@posix
def test_file_that_others_can_write_to(folder):
    cache.store(KEY, DATA)
    only_file(folder).chmod(0o666)
    with pytest.warns(RuntimeWarning, match="Others can write to"):
        assert cache.load(KEY) is None
    only_file(folder).chmod(0o644)
    assert cache.load(KEY) == DATA


@posix
def test_folder_of_another_user(folder, monkeypatch):
    cache.store(KEY, DATA)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner == 0:
        assert cache.load(KEY) == DATA
        os.chown(folder, 4321, 4321)
    with pytest.warns(RuntimeWarning, match="Others can write to"):
        assert cache.load(KEY) is None


def test_what_was_stored_under_another_key_is_discarded(folder):
    cache.store("ff", b"other code")
    only_file(folder).rename(folder / f"{KEY}.wengert")
    assert cache.load(KEY) is None
    assert not any(folder.iterdir())


def entries(folder: Path) -> set[str]:
    return {path.stem for path in folder.iterdir()}


def test_least_recently_used_go_first(folder, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_SIZE", "10000")
    size = 1000 - cache._HEADER.size
    keys = [f"{i:02x}" for i in range(10)]
    for age, key in enumerate(keys):
        cache.store(key, bytes(size))
        path = folder / (key + ".wengert")
        os.utime(path, (1e9 + age, 1e9 + age))
    assert entries(folder) == set(keys)
    (folder / "notes.txt").write_text("not ours" * 1000)
    assert cache.load("00") is not None
    assert cache.load("03") is not None
    cache.store("ff", bytes(size))
    assert entries(folder) == {"00", "03", "05", "06", "07", "08", "09", "ff", "notes"}
    assert cache.info() == (folder, 8, 8000)
    cache.clear()
    assert entries(folder) == {"notes"}
    assert cache.info() == (folder, 0, 0)


def test_size_is_not_checked_at_every_store(folder, monkeypatch):
    looks = []
    files = cache._files
    monkeypatch.setattr(cache, "_files", lambda folder: looks.append(folder) or files(folder))
    monkeypatch.setenv("WENGERT_CACHE_SIZE", "160000")
    for i in range(200):
        cache.store(f"{i:02x}", bytes(1000))
        assert len(list(folder.iterdir())) * 1052 < 160_000 + 10_000 + 2000
    assert 15 <= len(looks) <= 25


def test_too_large_and_wrong_sizes(folder, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_SIZE", "100")
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None
    monkeypatch.setenv("WENGERT_CACHE_SIZE", "much")
    with pytest.warns(RuntimeWarning, match="not 'much'"):
        cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


def test_leftovers_of_died_processes(folder):
    folder.mkdir(parents=True, mode=0o700)
    old, new = folder / "a.wengert-new", folder / "b.wengert-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    cache.store(KEY, DATA)
    assert not old.exists()
    assert new.exists()
    assert cache.info().entries == 1


@pytest.mark.parametrize("setting", ["", "off", "OFF", " "])
def test_off(monkeypatch, tmp_path, setting):
    monkeypatch.setenv("WENGERT_CACHE_DIR", setting)
    monkeypatch.chdir(tmp_path)
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None
    cache.clear()
    assert cache.info() == (None, 0, 0)
    assert not cache.is_used()
    assert not list(tmp_path.iterdir())


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("WENGERT_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for platform, expected in {"win32": "local", "darwin": "Library/Caches", "linux": ".cache"}.items():
        with monkeypatch.context() as changed:
            changed.setattr(sys, "platform", platform)
            for relative in ("", "relative/folder"):
                changed.setenv("XDG_CACHE_HOME", relative)
                assert cache.info().folder == tmp_path / expected / "wengert"
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
        cache.store(KEY, DATA)
        assert only_file(tmp_path / "x" / "wengert").stem == KEY


@pytest.mark.parametrize("setting", [None, "~/cache"])
def test_no_home(setting, monkeypatch, tmp_path):
    monkeypatch.delenv("WENGERT_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    if setting is not None:
        monkeypatch.setenv("WENGERT_CACHE_DIR", setting)
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None
    assert cache.info() == (None, 0, 0)
    assert not list(tmp_path.iterdir())


def test_folders_may_be_relative_and_begin_at_home(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    for setting, expected in {"cache": "cache", "~/cache": "home/cache"}.items():
        monkeypatch.setenv("WENGERT_CACHE_DIR", setting)
        assert cache.info().folder == tmp_path / expected


def test_a_file_in_the_way(folder):
    folder.parent.mkdir()
    folder.write_text("not a folder")
    with pytest.warns(RuntimeWarning, match="cannot be kept in .*WENGERT_CACHE_DIR") as caught:
        cache.store(KEY, DATA)
    assert len(caught) == 1
    cache.store(KEY, DATA)  # without a second warning
    assert cache.load(KEY) is None
    cache.clear()
    assert folder.read_text() == "not a folder"


@posix
@pytest.mark.filterwarnings("ignore:Compiled programs cannot be kept")
@pytest.mark.skipif(sys.platform != "win32" and os.getuid() == 0, reason="root may write everywhere")
def test_read_only_folder(folder):
    cache.store(KEY, DATA)
    folder.chmod(0o500)
    try:
        cache.store("ff", DATA)
        assert cache.load("ff") is None
        assert cache.load(KEY) == DATA
        only_file(folder).write_bytes(b"bad")
        assert cache.load(KEY) is None
    finally:
        folder.chmod(0o700)


@pytest.mark.filterwarnings("ignore:Compiled programs cannot be kept")
@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize(
    "name", ["os.replace", "tempfile.mkstemp", "os.utime", "os.scandir", "pathlib.Path.mkdir", "pathlib.Path.unlink"]
)
def test_disk_that_refuses(folder, monkeypatch, name, number):
    """Each step fails in turn: what was there is still found, and nothing raises or is left half done."""
    cache.store(KEY, DATA)

    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as changed:
        changed.setattr(cache, "_stored", {})
        changed.setattr(name, refuse)
        cache.store("ff", b"new")
        assert cache.load(KEY) == DATA
        (folder / "ee.wengert").write_bytes(b"bad")
        assert cache.load("ee") is None
        cache.clear()
        cache.info()
    assert not list(folder.glob("*-new"))
    assert cache.load("ff") in (None, b"new")


@pytest.mark.filterwarnings("ignore:Compiled programs cannot be kept")
def test_disk_full_while_writing(folder, monkeypatch):
    cache.store(KEY, DATA)

    class Full:
        def __init__(self, descriptor, mode):
            self.descriptor = descriptor

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            os.close(self.descriptor)

        def write(self, data):
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(cache, "open", Full, raising=False)
    cache.store(KEY, b"longer" * 1000)
    monkeypatch.undo()
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(folder))
    assert cache.load(KEY) == DATA
    assert only_file(folder).stem == KEY


WORKER = """
import hashlib, random, sys
from wengert.compiler.machine import cache
def data(key, version):
    return hashlib.sha256(f"{key} {version}".encode()).digest() * 2000
keys = [f"{i:02x}" for i in range(8)]
valid = {key: {data(key, version) for version in range(3)} for key in keys}
choice, found = random.Random(int(sys.argv[1])), 0
for _ in range(800):
    key = choice.choice(keys)
    cache.store(key, data(key, choice.randrange(3)))
    key = choice.choice(keys)
    out = cache.load(key)
    assert out is None or out in valid[key]
    found += out is not None
print(found)
"""


@pytest.mark.parametrize("size", ["100000000", "300000"])
def test_two_processes(folder, monkeypatch, size):
    """They store and load the same keys; with little room they also remove each other's entries."""
    monkeypatch.setenv("WENGERT_CACHE_SIZE", size)
    command = [sys.executable, "-W", "error", "-c", WORKER]
    workers = [subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True) for seed in range(2)]
    found = [int(worker.communicate(timeout=120)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert min(found) > (700 if len(size) > 6 else 100)
    assert not list(folder.glob("*-new"))
    assert cache.info().entries <= 8


@posix
@pytest.mark.parametrize("filters", [["-W", "error"], []])
def test_a_cache_that_cannot_be_used_never_fails_a_compilation(tmp_path, filters):
    """Neither a folder that others can write to, nor a file instead of one; each warns once."""
    code = """if True:
        import os, sys, numpy as np, wengert as wg
        for folder in sys.argv[1:]:
            os.environ["WENGERT_CACHE_DIR"] = folder
            for i in range(3):
                assert (wg.compile(lambda x: x + float(i))(np.zeros(3)) == i).all()
    """
    shared, file = tmp_path / "shared", tmp_path / "file"
    shared.mkdir()
    shared.chmod(0o777)
    file.write_text("")
    done = subprocess.run(
        [sys.executable, *filters, "-c", code, shared, file], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning") == 2
    assert done.stderr.count(f"cannot be kept in {file}") == 1


COMPILE = """
import numpy as np, wengert as wg
x = np.linspace(0.1, 1.0, 300_000)
f = wg.compile(lambda x: np.exp(np.sin(x)).sum())
assert abs(f(x) + f(x) - 2 * np.exp(np.sin(x)).sum()) < 1e-6  # the second call has a native entry
print(f.report(x).is_warm)
"""


def test_foreign_content_under_the_keys_of_programs_is_replaced(folder):
    def compile_in_process() -> str:
        return subprocess.run(
            [sys.executable, "-c", COMPILE], env=os.environ, capture_output=True, text=True, check=True, timeout=300
        ).stdout

    compile_in_process()
    for path in list(folder.iterdir()):
        cache.store(path.stem, b"not machine code")
    assert compile_in_process() == "False\n"
    assert len(entries(folder)) > 2
    assert not [path for path in folder.iterdir() if b"not machine code" in path.read_bytes()]
    assert compile_in_process() == "True\n"
