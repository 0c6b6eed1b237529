/**
 * What the fleet answers as it is kept is in the API's document. Nothing runs; `npm run typecheck` refuses a name that
 * the document lacks. The command line and the dashboard take their types from the client that is made of it.
 */
import type * as Api from '../../clients/typescript/bursar.js';
import type { FleetTargetJson } from '../../src/store/fleet/fleet-json.js';

type Nothing<Missing extends never> = Missing;

export type Held = Nothing<Exclude<keyof FleetTargetJson, keyof Api.FleetTarget>>;

// @ts-expect-error a name that a target of the fleet does not answer
export type Canary = Nothing<Exclude<keyof FleetTargetJson | 'nothing', keyof Api.FleetTarget>>;
