/**
 * What the command line reads of an answer is in the answer: its types against those of the TypeScript client, which is
 * made of the API's document. Nothing runs; `npm run typecheck` refuses a name that the API does not answer (a reader
 * that still asked for a dropped field printed "undefined"). The dashboard takes its types from that client itself.
 */
import type * as Api from '../../clients/typescript/bursar.js';
import type { SignedIn } from '../../src/cli/client/sign-in.js';
import type { FleetTargetJson } from '../../src/store/fleet/fleet-json.js';

type Plain = string | number | boolean | bigint | symbol | null | undefined;
/** The names that any member of a union has. */
type NameOf<T> = T extends unknown ? keyof T : never;
type ValueOf<T, Name> = T extends unknown ? (Name extends keyof T ? T[Name] : never) : never;

/** Paths that `Reader` reads and `Answer` lacks; never where there is none. `any` and `unknown` lack nothing. */
type Lacks<Reader, Answer> = unknown extends Answer
  ? never
  : Reader extends Plain
    ? never
    : Reader extends readonly (infer Item)[]
      ? Answer extends readonly (infer Answered)[]
        ? Lacks<Item, Answered>
        : never
      : {
          [Name in keyof Reader & string]-?: string extends Name
            ? never
            : Name extends NameOf<NonNullable<Answer>>
              ? `${Name}.${Lacks<Reader[Name], ValueOf<Answer, Name>> & string}`
              : Name;
        }[keyof Reader & string];

type Nothing<Missing extends never> = Missing;

/** One line for each type that the command line reads an answer as and does not share with the server. */
export type Held = [
  Nothing<Lacks<SignedIn, NonNullable<Api.Session['signedIn']>>>,
  // What is answered as it is kept.
  Nothing<Exclude<keyof FleetTargetJson, keyof Api.FleetTarget>>,
];

// @ts-expect-error a name that the session does not answer
export type AtTheTop = Nothing<Lacks<SignedIn & { readonly organisation: string }, Api.Session['signedIn']>>;
// @ts-expect-error a name that a total of costs does not answer
export type Within = Nothing<Lacks<{ readonly totals: readonly { readonly nothing: string }[] }, Api.Costs>>;
