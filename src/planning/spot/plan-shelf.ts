/**
 * A cache of plans between evaluations, by the inputs that determine them: a job's own numbers and the parameters of
 * the model. It drops the least recently used plan, never the most recent one.
 *
 * The invariant: the cache takes at most `mostBytes`, except for a single plan that alone takes more.
 */
import { availabilityModel, type AvailabilityParameters } from './availability-model.js';
import { KeptPlan } from './kept-plan.js';
import type { SpotPlan } from './plan.js';
import type { SpotProblem } from './problem.js';

export class PlanShelf {
  /** Oldest use first. */
  private readonly plans = new Map<string, KeptPlan>();
  private kept = 0;
  private planned = 0;

  constructor(private readonly mostBytes: number) {}

  /** Bytes of tables and costs that are kept now. */
  get bytes(): number {
    return this.kept;
  }

  /** How many plans were made so far. */
  get made(): number {
    return this.planned;
  }

  /** The plan of `problem` under the model of `parameters`; made where it is not kept. */
  plan(problem: SpotProblem, parameters: AvailabilityParameters): SpotPlan {
    const key = JSON.stringify([problem, parameters]);
    const known = this.plans.get(key);
    const plan = known ?? this.make(problem, parameters);
    this.plans.delete(key);
    this.plans.set(key, plan);
    return plan;
  }

  private make(problem: SpotProblem, parameters: AvailabilityParameters): KeptPlan {
    const plan = new KeptPlan(problem, availabilityModel(parameters));
    this.planned += 1;
    this.kept += plan.bytes;
    for (const [key, { bytes }] of this.plans) {
      if (this.kept <= this.mostBytes) break;
      this.plans.delete(key);
      this.kept -= bytes;
    }
    return plan;
  }
}
