// Which intervals overlap a stretch of time, without looking at all of them.

const BLOCK = 64;

/** Intervals sorted by their beginnings, in blocks that know their latest end. */
export class TimeIndex {
  /**
   * @param {Float64Array} begins  ascending
   * @param {Float64Array} ends
   */
  constructor(begins, ends) {
    this.begins = begins;
    this.ends = ends;
    this.latest = new Float64Array(Math.ceil(begins.length / BLOCK));
    for (let block = 0; block < this.latest.length; block += 1) {
      let latest = -Infinity;
      const stop = Math.min((block + 1) * BLOCK, ends.length);
      for (let item = block * BLOCK; item < stop; item += 1)
        latest = Math.max(latest, ends[item], begins[item]);
      this.latest[block] = latest;
    }
  }

  /**
   * Call `visit` with every interval that touches the stretch, in order.
   * @param {number} from
   * @param {number} to
   * @param {(item: number) => void} visit
   */
  within(from, to, visit) {
    const stop = this.firstAfter(to);
    for (let start = 0; start < stop; start += BLOCK) {
      if (this.latest[start / BLOCK] < from) continue;
      const end = Math.min(start + BLOCK, stop);
      for (let item = start; item < end; item += 1) {
        if (this.ends[item] >= from || this.begins[item] >= from) visit(item);
      }
    }
  }

  /**
   * The first interval that begins after this time.
   * @param {number} time
   * @returns {number}
   */
  firstAfter(time) {
    let low = 0;
    let high = this.begins.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begins[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
