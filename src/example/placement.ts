/**
 * Places the pods of the openb trace on its nodes, because the trace does not say where they ran. PURE.
 *
 * The written rule: pods in the order in which they were scheduled (then by name); each goes to the first node that has
 * room for its GPUs from its scheduling to its deletion. A pod with preferred nodes looks through those first, in the
 * order of the list; then, and every other pod, begins behind the node of the pod before and goes round once.
 * A shared pod takes a thousandth-share of one GPU, a whole pod takes free GPUs. A pod that fits nowhere is returned as
 * unplaced, never dropped. The result is an assignment, not a measurement, and everything made of it is labelled so.
 */

export interface PodToPlace {
  readonly name: string;
  /** Whole GPUs asked for. */
  readonly gpus: number;
  /** Thousandths of each; below 1000 only where one GPU is shared. */
  readonly gpuMilli: number;
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** GPU model of the nodes that it looks through first; null: none. */
  readonly preferredModel: string | null;
}

export interface Node {
  readonly name: string;
  readonly gpus: number;
  /** As the trace names it: `T4`, `V100M16`, `G2`. */
  readonly model: string;
}

export interface Placement {
  readonly pod: PodToPlace;
  /** Null: no node had room. */
  readonly node: Node | null;
}

interface Held {
  readonly until: number;
  readonly gpu: number;
  readonly milli: number;
}

/** A node's GPUs while pods come and go. */
class Slots {
  private readonly free: Int32Array;
  private held: Held[] = [];

  constructor(readonly node: Node) {
    this.free = new Int32Array(node.gpus).fill(1000);
  }

  /** Takes what the pod needs, or nothing. */
  take(pod: PodToPlace): boolean {
    this.release(pod.startSeconds);
    const fitting: number[] = [];
    for (let gpu = 0; gpu < this.free.length && fitting.length < pod.gpus; gpu++) {
      if ((this.free[gpu] ?? 0) >= pod.gpuMilli) fitting.push(gpu);
    }
    if (fitting.length < pod.gpus) return false;
    for (const gpu of fitting) {
      this.free[gpu] = (this.free[gpu] ?? 0) - pod.gpuMilli;
      this.held.push({ until: pod.endSeconds, gpu, milli: pod.gpuMilli });
    }
    return true;
  }

  private release(now: number): void {
    if (this.held.every(({ until }) => until > now)) return;
    for (const { until, gpu, milli } of this.held) if (until <= now) this.free[gpu] = (this.free[gpu] ?? 0) + milli;
    this.held = this.held.filter(({ until }) => until > now);
  }
}

/** A place for every pod, in the order of their scheduling. */
export function placePods(pods: readonly PodToPlace[], nodes: readonly Node[]): Placement[] {
  const slots = nodes.map((node) => new Slots(node));
  const order = [...pods].sort((a, b) => a.startSeconds - b.startSeconds || (a.name < b.name ? -1 : 1));
  let begin = 0;
  return order.map((pod) => {
    const preferred =
      pod.preferredModel === null
        ? undefined
        : slots.find(({ node }, at) => node.model === pod.preferredModel && slots[at]?.take(pod) === true);
    if (preferred !== undefined) return { pod, node: preferred.node };
    for (let step = 0; step < slots.length; step++) {
      const at = (begin + step) % slots.length;
      const slot = slots[at];
      if (slot?.take(pod) !== true) continue;
      begin = (at + 1) % slots.length;
      return { pod, node: slot.node };
    }
    return { pod, node: null };
  });
}
