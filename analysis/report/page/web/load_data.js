// SPDX-License-Identifier: Apache-2.0
//
// The data of the page: read from its element, unpacked where they are packed.
'use strict';
(() => {
  const texts = page.texts.load;

  const unpack = async (text) => {
    if (typeof DecompressionStream === 'undefined') {
      throw new Error(texts.cannot_unpack);
    }
    const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  };

  /** The parsed data. Errors: thrown with a sentence for the reader. */
  page.load = async () => {
    const element = document.getElementById('data');
    if (!element) throw new Error(texts.no_data);
    const packed = element.type === 'application/gzip';
    const text = packed ? await unpack(element.textContent.trim()) : element.textContent;
    const data = JSON.parse(text);
    if (data.schema !== 1) throw new Error(texts.other_schema(data.schema));
    element.remove();
    return data;
  };
})();
