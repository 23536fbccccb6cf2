"""The contrast of text on a page with what is behind it."""

LOW_CONTRAST = """() => {
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const read = (text) => {
    const [r, g, b, alpha = 1] = text.match(/[\\d.]+/g).map(Number), unit = text.startsWith('color(srgb') ? 255 : 1;
    return [r * unit, g * unit, b * unit, alpha];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const shape = (e) => [...(e.closest('.box, .label')?.querySelectorAll('.frame, .label > rect') ?? [])].pop();
  const ground = (e) => {
    if (!e) return [255, 255, 255];
    const { fill } = e.matches('svg text') && shape(e) ? getComputedStyle(shape(e)) : { fill: 'none' };
    return over(read(fill === 'none' ? getComputedStyle(e).backgroundColor : fill), ground(e.parentElement));
  };
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const seen = e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!own || !seen || e.closest('script, style, math, button:disabled')) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const paper = ground(e), ink = over(read(e.matches('svg text') ? style.fill : style.color), paper);
    const [dark, bright] = [light(ink), light(paper)].sort((a, b) => a - b), ratio = (bright + 0.05) / (dark + 0.05);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) found.push([e.getAttribute('class'), e.textContent.slice(0, 30), ratio]);
  }
  return found;
}"""
"""A script that returns the texts below 4.5, or 3 if they are large (AA of WCAG 2); texts of graphs are on boxes."""
