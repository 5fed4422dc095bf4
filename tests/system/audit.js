/* Faults of a page, as far as a machine sees them: sentences, none for a page that is right. Colours are judged as they are
 * composed below each text (WCAG 2.2: 1.4.3, 1.4.11), in the mode and at the width that the page is shown in. */
(() => {
  const found = [];
  const say = (what, node) => found.push(`${what}: ${nameOf(node)}`);
  const nameOf = (node) =>
    `${node.closest('figure')?.dataset.view ?? ''} <${node.tagName.toLowerCase()}${node.id ? '#' + node.id : ''}${[...node.classList].map((c) => '.' + c).join('')}> ` +
    String(node.getAttribute('aria-label') || node.textContent).trim().slice(0, 60);
  const shown = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length > 0;

  /* ---- colours ---- */

  const colour = (text) => {
    const parts = /^rgba?\(([^)]*)\)$/.exec(text);
    if (!parts) return null; /* none, or a pattern */
    const [r, g, b, a = 1] = parts[1].split(/[,/ ]+/).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const isDrawn = (node) => node.namespaceURI === 'http://www.w3.org/2000/svg' && node.tagName !== 'svg';
  const paintOf = (node) => {
    const style = getComputedStyle(node);
    const paint = colour(isDrawn(node) ? style.fill : style.backgroundColor);
    return paint && [...paint.slice(0, 3), paint[3] * (isDrawn(node) ? +style.fillOpacity : 1)];
  };
  const canvas = document.documentElement;
  const ground = () => {
    const own = colour(getComputedStyle(document.body).backgroundColor);
    return over(own, matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  /* The colours under a point, below a node. null: something else lies over it. */
  const under = (node, x, y) => {
    const stack = document.elementsFromPoint(x, y);
    const at = stack.findIndex((one) => one === node || node.contains(one));
    if (at < 0) return null;
    const below = stack.slice(at + 1).filter((one) => !isDrawn(one) || !['text', 'g'].includes(one.tagName));
    const own = isDrawn(node) ? [] : [node];
    return [...own, ...below].reverse().reduce((all, one) => {
      const paint = paintOf(one);
      return paint ? over(paint, all) : all;
    }, ground());
  };

  const checkText = (node) => {
    const style = getComputedStyle(node);
    const box = node.getBoundingClientRect();
    const ink = colour(isDrawn(node) ? style.fill : style.color);
    if (!box.width || !box.height || !ink || box.right < 0) return;
    const halo = style.paintOrder.startsWith('stroke') ? colour(style.stroke) : null;
    const paper = halo || under(node, box.left + box.width / 2, box.top + box.height / 2);
    if (!paper) return;
    const size = parseFloat(style.fontSize), bold = +style.fontWeight >= 700;
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    const is = ratio(over([...ink.slice(0, 3), ink[3] * opacityOf(node)], paper), paper);
    if (is < least) say(`contrast ${is.toFixed(2)} of a text, at least ${least}`, node);
  };
  const opacityOf = (node) => (node && node !== canvas ? +getComputedStyle(node).opacity * opacityOf(node.parentElement) : 1);
  /* Of thousands that are alike, some. */
  const some = (nodes) => nodes.filter((_, i) => i % Math.ceil(nodes.length / 300) === 0);
  const ownText = (node) => [...node.childNodes].some((c) => c.nodeType === Node.TEXT_NODE && c.data.trim());
  const isText = (node) => !['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION', 'title'].includes(node.tagName) && ownText(node);
  const inks = [...document.body.querySelectorAll('*')].filter((node) => isText(node) && shown(node));
  some(inks.filter((node) => !node.closest('svg, td'))).forEach(checkText);
  some(inks.filter((node) => node.closest('svg, td'))).forEach(checkText);

  for (const node of some([...document.querySelectorAll('.line, .front, .limit, .dot, .open, .fired, .bar, .reach, .served, .seed')])) {
    const style = getComputedStyle(node);
    const paints = [colour(style.fill), colour(style.stroke)].filter((c) => c && c[3] > 0);
    const best = Math.max(0, ...paints.map((c) => ratio(over(c, ground()), ground())));
    if (best < 3) say(`contrast ${best.toFixed(2)} of a mark, at least 3`, node);
  }

  /* ---- layout ---- */

  if (canvas.scrollWidth > innerWidth) {
    const widest = [...document.body.querySelectorAll('*')].filter((n) => n.getBoundingClientRect().right > innerWidth + 1 && !n.closest('.wide'));
    say(`scrolls sideways, ${canvas.scrollWidth} of ${innerWidth}`, widest.pop() || document.body);
  }
  for (const node of document.querySelectorAll('svg text')) {
    const box = node.getBoundingClientRect(), all = node.ownerSVGElement.getBoundingClientRect();
    if (box.width && (box.left < all.left - 3 || box.right > all.right + 3)) say('is drawn beside its picture', node);
  }
  const texts = (svg) => [...svg.querySelectorAll('text')].map((node) => [node, node.getBoundingClientRect()]);
  for (const svg of document.querySelectorAll('svg')) {
    const all = texts(svg).filter(([, box]) => box.width > 0).slice(0, 400);
    all.forEach(([node, a], i) => {
      const hit = all.slice(i + 1).find(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6);
      if (hit) say(`lies over "${hit[0].textContent.slice(0, 30)}"`, node);
    });
  }
  if (matchMedia('print').matches) {
    for (const node of document.querySelectorAll('main *')) {
      const style = getComputedStyle(node);
      if (shown(node) && /auto|scroll|hidden/.test(style.overflowX + style.overflowY) &&
        (node.scrollHeight > node.clientHeight + 1 || node.scrollWidth > node.clientWidth + 1)) say('is cut on paper', node);
    }
    for (const node of document.querySelectorAll('main table'))
      if (node.getBoundingClientRect().right > innerWidth + 1) say('does not fit on paper', node);
  }

  /* ---- structure ---- */

  if (!document.title.trim()) say('no title', canvas);
  if (!canvas.lang) say('no language', canvas);
  if (document.querySelectorAll('main').length !== 1) say('not one main part', document.body);
  const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(shown).map((node) => [node, +node.tagName[1]]);
  if (levels.filter(([, level]) => level === 1).length !== 1) say('not one heading of the page', document.body);
  levels.forEach(([node, level], i) => {
    if (i && level > levels[i - 1][1] + 1) say('a heading skips a level', node);
  });
  const ids = new Set();
  for (const node of document.querySelectorAll('[id]')) {
    if (ids.has(node.id)) say('an id that another has', node);
    ids.add(node.id);
  }
  for (const attribute of ['aria-labelledby', 'aria-describedby', 'for'])
    for (const node of document.querySelectorAll(`[${attribute}]`))
      if (!document.getElementById(node.getAttribute(attribute))) say(`${attribute} of nothing`, node);
  for (const node of document.querySelectorAll('a[href^="#"]'))
    if (!document.getElementById(node.getAttribute('href').slice(1))) say('leads nowhere', node);
  for (const node of document.querySelectorAll('table')) {
    if (!node.caption) say('a table without a caption', node);
    if ([...node.querySelectorAll('th')].some((th) => !th.scope)) say('a heading cell without a scope', node);
  }
  for (const node of document.querySelectorAll('svg [data-value]'))
    if (node.dataset.value && !(node.closest('[tabindex]') && node.closest('[aria-label]'))) say('a mark without words', node);

  /* ---- values that are none ---- */

  const labels = [...document.querySelectorAll('main *')].filter(ownText).map((node) => [node, node.textContent])
    .concat([...document.querySelectorAll('[aria-label]')].map((node) => [node, node.getAttribute('aria-label')]));
  for (const [node, text] of labels)
    if (/\bundefined\b|\bNaN\b|\[object|function |\bInfinity\b|Invalid Date/.test(text) && !/^SCRIPT$/.test(node.tagName)) say(`shows "${text.slice(0, 60)}"`, node);
  return [...new Set(found)];
})()
