/**
 * The clairvoyant optimum of a service on spot and on-demand: the least that holds the objective in a window that is
 * wholly known, where two plans may be mixed by chance (on average over the mixture, no plan at all costs less).
 *
 * For a given price of unserved time the best plan is an exact minimum-cost flow: each wanted replica is a unit that
 * walks from tick to tick unserved, on an instance of a zone, or on on-demand, and pays the cold start where it steps
 * on. The price is then moved until the objective is met: the lower convex hull of cost over unserved time at what is
 * allowed. More than the wanted replicas never help who knows the future, since a later start of the additional one
 * costs less. A zone of capacity k is k places of capacity one, the first of which is there whenever the second is;
 * that is what "those that started last are lost first" comes to. A yardstick and never a policy.
 */
import type { ServingProblem, ServingWindow } from '../../planning/spot-serving/problem.js';
import { FlowNetwork } from './flow.js';

export interface Plan {
  readonly cost: number;
  readonly unserved: number;
}

/** Least cost of a window under the objective. */
export function servingOptimum(problem: ServingProblem, window: ServingWindow): number {
  const { allowedSeconds: allowed, wantedSeconds } = problem;
  let cheap: Plan = { cost: 0, unserved: wantedSeconds };
  let safe = bestPlan(problem, window, problem.onDemandPerHour * problem.ticks);
  for (;;) {
    if (cheap.unserved - safe.unserved < 1e-6) return safe.cost;
    const price = (safe.cost - cheap.cost) / (cheap.unserved - safe.unserved);
    const found = bestPlan(problem, window, price);
    const value = (plan: Plan): number => plan.cost + price * plan.unserved;
    if (value(found) >= value(cheap) - 1e-7 * Math.max(1, value(cheap))) break;
    if (found.unserved > allowed) cheap = found;
    else safe = found;
  }
  const share = (cheap.unserved - allowed) / (cheap.unserved - safe.unserved);
  return cheap.cost + share * (safe.cost - cheap.cost);
}

/** A plan of least cost plus `price` times its unserved replica-seconds. */
export function bestPlan(problem: ServingProblem, window: ServingWindow, price: number): Plan {
  const { replicas, ticks, tickSeconds } = problem;
  const network = new FlowNetwork();
  const waiting = Array.from({ length: ticks + 1 }, () => network.node());
  for (let tick = 0; tick < ticks; tick += 1)
    network.edge(at(waiting, tick), at(waiting, tick + 1), replicas, price * tickSeconds, tickSeconds);
  const hours = tickSeconds / 3600;
  const addPlaces = (most: number, available: (tick: number) => boolean, cost: (tick: number) => number): void =>
    addPlace(network, waiting, problem, { most, available, cost, price });
  addPlaces(
    replicas,
    () => true,
    () => problem.onDemandPerHour * hours,
  );
  window.capacity.forEach((capacity, zone) => {
    const places = Math.min(replicas, Math.max(...capacity));
    for (let place = 1; place <= places; place += 1)
      addPlaces(
        1,
        (tick) => (capacity[tick] ?? 0) >= place,
        (tick) => (window.spotPerHour[zone]?.[tick] ?? NaN) * hours,
      );
  });
  const { cost, extra } = network.send(at(waiting, 0), at(waiting, ticks), replicas);
  return { cost: cost - price * extra, unserved: extra };
}

const at = (nodes: readonly number[], tick: number): number => nodes[tick] ?? -1;

interface Place {
  readonly most: number;
  readonly available: (tick: number) => boolean;
  /** Of one replica for a tick. */
  readonly cost: (tick: number) => number;
  readonly price: number;
}

/**
 * Where instances can run: a node per tick before which the place was held (`serving`), and a gate that holds no more
 * than `most` in a tick. A cold start that ends within a tick enters through the gate, unserved until then.
 */
function addPlace(
  network: FlowNetwork,
  waiting: readonly number[],
  { ticks, tickSeconds, coldSeconds }: ServingProblem,
  { most, available, cost, price }: Place,
): void {
  const whole = Math.floor(coldSeconds / tickSeconds + 1e-9);
  const rest = coldSeconds - whole * tickSeconds > 1e-6 ? coldSeconds - whole * tickSeconds : 0;
  const coldTicks = rest > 0 ? whole + 1 : whole;
  let serving = network.node();
  /** Ticks in a row for which the place has been there, before this one. */
  let since = 0;
  for (let tick = 0; tick < ticks; tick += 1) {
    network.edge(serving, at(waiting, tick), most, 0);
    if (!available(tick)) {
      serving = network.node();
      since = 0;
      continue;
    }
    const costOf = (first: number, end: number): number => {
      let sum = 0;
      for (let paid = first; paid < end; paid += 1) sum += cost(paid);
      return sum;
    };
    const [gate, next] = [network.node(), network.node()];
    network.edge(serving, gate, most, cost(tick));
    network.edge(gate, next, most, 0);
    if (since >= coldTicks) network.edge(at(waiting, tick), serving, most, costOf(tick - coldTicks, tick));
    if (rest > 0 && since >= whole)
      network.edge(at(waiting, tick), gate, most, costOf(tick - whole, tick + 1) + price * rest, rest);
    serving = next;
    since += 1;
  }
  network.edge(serving, at(waiting, ticks), most, 0);
}
