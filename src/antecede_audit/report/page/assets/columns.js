// Columns of numbers out of text: the other half of spacetime/diagram.py.

/**
 * @param {string} text  base64 of zlib of variable-length integers
 * @param {number} count  how many numbers there are
 * @param {boolean} [growing]  whether they are differences
 * @returns {Promise<Float64Array>}
 */
export async function unpackColumn(text, count, growing = false) {
  const bytes = await inflated(bytesOf(text));
  const values = new Float64Array(count);
  let place = 0;
  let total = 0;
  for (let number = 0; number < count; number += 1) {
    let value = 0;
    let scale = 1;
    let byte = bytes[place++];
    while (byte > 127) {
      value += (byte & 127) * scale;
      scale *= 128;
      byte = bytes[place++];
    }
    value += byte * scale;
    const signed = value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    total = growing ? total + signed : signed;
    values[number] = total;
  }
  return values;
}

/**
 * @param {string} text
 * @returns {Uint8Array}
 */
function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place += 1) bytes[place] = letters.charCodeAt(place);
  return bytes;
}

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
async function inflated(bytes) {
  const stream = new Blob([/** @type {BlobPart} */ (bytes)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
