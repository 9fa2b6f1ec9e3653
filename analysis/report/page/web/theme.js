// SPDX-License-Identifier: Apache-2.0
//
// Light and dark: as the system says, or as the reader chose.
'use strict';
(() => {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const root = document.documentElement;
  const select = document.getElementById('theme');

  const apply = () => {
    const dark = select.value === 'dark' || (select.value === 'auto' && system.matches);
    root.dataset.theme = select.value;
    const was = 'dark' in root.dataset;
    if (dark) root.dataset.dark = '';
    else delete root.dataset.dark;
    if (was !== dark && page.data) page.redraw();
  };
  const remember = () => {
    try {
      localStorage.setItem('gpuprof-theme', select.value);
    } catch (_) { /* pages from disk may not be allowed to remember */ }
  };

  try {
    const kept = localStorage.getItem('gpuprof-theme');
    if (['light', 'dark'].includes(kept)) select.value = kept;
  } catch (_) { /* as above */ }
  select.addEventListener('change', () => {
    remember();
    apply();
  });
  system.addEventListener('change', apply);
  apply();
})();
