/**
 * Minimum-cost flow by successive shortest paths (Dijkstra with potentials), for networks whose costs are zero or more.
 *
 * Beside its cost an edge may carry an extra quantity, which is summed and decides nothing.
 */

const HALF = 2;

export class FlowNetwork {
  private nodes = 0;
  /** By edge; an edge and its way back are neighbours. */
  private readonly to: number[] = [];
  private readonly room: number[] = [];
  private readonly cost: number[] = [];
  private readonly extra: number[] = [];
  private readonly nextEdge: number[] = [];
  private readonly firstEdge: number[] = [];

  node(): number {
    this.firstEdge.push(-1);
    this.nodes += 1;
    return this.nodes - 1;
  }

  edge(from: number, to: number, room: number, cost: number, extra = 0): void {
    this.half(from, to, room, cost, extra);
    this.half(to, from, 0, -cost, -extra);
  }

  private half(from: number, to: number, room: number, cost: number, extra: number): void {
    this.nextEdge.push(this.firstEdge[from] ?? -1);
    this.firstEdge[from] = this.to.length;
    this.to.push(to);
    this.room.push(room);
    this.cost.push(cost);
    this.extra.push(extra);
  }

  /** Sends `units` from one node to another at the least cost; as many as there is room for. */
  send(from: number, target: number, units: number): { readonly cost: number; readonly extra: number } {
    const potential = new Float64Array(this.nodes);
    let [cost, extra, left] = [0, 0, units];
    while (left > 0) {
      const { distance, through } = this.shortest(from, potential);
      if (distance[target] === Infinity) break;
      for (let node = 0; node < this.nodes; node += 1)
        potential[node] = (potential[node] ?? 0) + Math.min(distance[node] ?? 0, distance[target] ?? 0);
      let pushed = left;
      const path: number[] = [];
      for (let node = target; node !== from; ) {
        const edge = through[node] ?? -1;
        path.push(edge);
        pushed = Math.min(pushed, this.room[edge] ?? 0);
        node = this.to[edge ^ 1] ?? from;
      }
      for (const edge of path) {
        this.room[edge] = (this.room[edge] ?? 0) - pushed;
        this.room[edge ^ 1] = (this.room[edge ^ 1] ?? 0) + pushed;
        cost += pushed * (this.cost[edge] ?? 0);
        extra += pushed * (this.extra[edge] ?? 0);
      }
      left -= pushed;
    }
    return { cost, extra };
  }

  private shortest(from: number, potential: Float64Array): { distance: Float64Array; through: Int32Array } {
    const distance = new Float64Array(this.nodes).fill(Infinity);
    const through = new Int32Array(this.nodes).fill(-1);
    const done = new Uint8Array(this.nodes);
    const queue = new Queue();
    distance[from] = 0;
    queue.push(0, from);
    for (let node = queue.pop(); node >= 0; node = queue.pop()) {
      if (done[node] === 1) continue;
      done[node] = 1;
      const here = distance[node] ?? Infinity;
      for (let edge = this.firstEdge[node] ?? -1; edge >= 0; edge = this.nextEdge[edge] ?? -1) {
        if ((this.room[edge] ?? 0) <= 0) continue;
        const next = this.to[edge] ?? 0;
        const reduced = (this.cost[edge] ?? 0) + (potential[node] ?? 0) - (potential[next] ?? 0);
        // Rounding may leave a trace below zero.
        const there = here + Math.max(0, reduced);
        if (there < (distance[next] ?? Infinity)) {
          distance[next] = there;
          through[next] = edge;
          queue.push(there, next);
        }
      }
    }
    return { distance, through };
  }
}

/** A binary heap of nodes by distance. */
class Queue {
  private readonly keys: number[] = [];
  private readonly values: number[] = [];

  push(key: number, value: number): void {
    const { keys, values } = this;
    let at = keys.length;
    keys.push(key);
    values.push(value);
    while (at > 0) {
      const up = Math.floor((at - 1) / HALF);
      if ((keys[up] ?? 0) <= key) break;
      keys[at] = keys[up] ?? 0;
      values[at] = values[up] ?? 0;
      at = up;
    }
    keys[at] = key;
    values[at] = value;
  }

  /** The node of least distance; -1: none is left. */
  pop(): number {
    const { keys, values } = this;
    const [found, key, value] = [values[0] ?? -1, keys.pop() ?? 0, values.pop() ?? -1];
    const size = keys.length;
    if (size === 0) return found;
    let at = 0;
    for (;;) {
      let down = HALF * at + 1;
      if (down >= size) break;
      if (down + 1 < size && (keys[down + 1] ?? 0) < (keys[down] ?? 0)) down += 1;
      if ((keys[down] ?? 0) >= key) break;
      keys[at] = keys[down] ?? 0;
      values[at] = values[down] ?? -1;
      at = down;
    }
    keys[at] = key;
    values[at] = value;
    return found;
  }
}
