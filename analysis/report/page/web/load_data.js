// SPDX-License-Identifier: Apache-2.0
//
// The data of the page: read from its element, unpacked where they are packed.
'use strict';
(() => {
  const unpack = async (text) => {
    if (typeof DecompressionStream === 'undefined') {
      throw new Error('this browser cannot unpack the data of the page; use one of 2023 or later');
    }
    const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  };

  /** The parsed data. Errors: thrown with a sentence for the reader. */
  page.load = async () => {
    const element = document.getElementById('data');
    if (!element) throw new Error('the page holds no data: the file was cut or changed');
    const packed = element.type === 'application/gzip';
    const text = packed ? await unpack(element.textContent.trim()) : element.textContent;
    const data = JSON.parse(text);
    if (data.schema !== 1) throw new Error(`the data are of version ${data.schema}, the page knows version 1`);
    element.remove();
    return data;
  };
})();
