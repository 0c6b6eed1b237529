/**
 * What the command line and the dashboard read of an answer is in the answer: their types against those of the
 * TypeScript client, which is made of the API's document. Nothing runs; `npm run typecheck` refuses a name that the
 * API does not answer (a reader that still asked for a dropped field printed "undefined").
 */
import type * as Api from '../../clients/typescript/bursar.js';
import type * as Dashboard from '../../src/web/dashboard/answers.js';
import type { FleetDetails } from '../../src/web/dashboard/fleet-answers.js';
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

/** One line for each type of the dashboard that an answer is read as, and for those that the command line writes. */
export type Held = [
  Nothing<Lacks<SignedIn, NonNullable<Api.Session['signedIn']>>>,
  Nothing<Lacks<Dashboard.Session, Api.Session>>,
  Nothing<Lacks<Dashboard.StandingSession, Api.StandingSession>>,
  Nothing<Lacks<Dashboard.Explained, Api.Explanation>>,
  Nothing<Lacks<Dashboard.BudgetState, Api.BudgetState['state']>>,
  Nothing<Lacks<Dashboard.Standing, Api.BudgetStanding>>,
  Nothing<Lacks<Dashboard.Bill, Api.Bill>>,
  Nothing<Lacks<Dashboard.Overview, Api.Overview>>,
  Nothing<Lacks<Dashboard.BurnDown, Api.BurnDown>>,
  Nothing<Lacks<Dashboard.Team, Api.Team>>,
  Nothing<Lacks<Dashboard.Lease, Api.Lease>>,
  Nothing<Lacks<Dashboard.Costs, Api.Costs>>,
  Nothing<Lacks<Dashboard.StoredRecommendation, Api.Recommendation>>,
  Nothing<Lacks<Dashboard.Action, Api.Action>>,
  Nothing<Lacks<Dashboard.ActionStory, Api.ActionStory>>,
  Nothing<Lacks<Dashboard.Saving, Api.Saving>>,
  Nothing<Lacks<Dashboard.SavingTotals, Api.SavingTotals>>,
  Nothing<Lacks<Dashboard.SavingDetail, Api.SavingDetail>>,
  Nothing<Lacks<Dashboard.PolicyKind, Api.PolicyDescription>>,
  Nothing<Lacks<Dashboard.PolicyDocument, Api.StoredPolicy>>,
  Nothing<Lacks<Dashboard.Imported, Api.ImportedFile>>,
  Nothing<Lacks<Dashboard.StoredImport, Api.Import>>,
  Nothing<Lacks<Dashboard.Reject, Api.Reject>>,
  Nothing<Lacks<Dashboard.Backtest, Api.Backtest>>,
  Nothing<Lacks<Dashboard.BacktestResult, Api.BacktestReport>>,
  Nothing<Lacks<Dashboard.BudgetPeriod, Api.BudgetPeriod>>,
  Nothing<Lacks<Dashboard.EvaluatedBudget, Api.BudgetState>>,
  Nothing<Lacks<Dashboard.Reservation, Api.Reservation>>,
  Nothing<Lacks<Dashboard.Alert, Api.Alert>>,
  Nothing<Lacks<Dashboard.AlertStory, Api.AlertStory>>,
  Nothing<Lacks<Dashboard.CostBreakdown, Api.CostBreakdown>>,
  Nothing<Lacks<Dashboard.CostBridge, Api.CostBridge>>,
  Nothing<Lacks<Dashboard.CostView, Api.CostView>>,
  Nothing<Lacks<Dashboard.CostResources, Api.CostResources>>,
  Nothing<Lacks<FleetDetails, Api.FleetDetails>>,
  // What is answered as it is kept.
  Nothing<Exclude<keyof FleetTargetJson, keyof Api.FleetTarget>>,
];

// @ts-expect-error a name that the session does not answer
export type AtTheTop = Nothing<Lacks<Dashboard.SignedIn & { readonly organisation: string }, Api.Session['signedIn']>>;
// @ts-expect-error a name that a total of costs does not answer
export type Within = Nothing<Lacks<{ readonly totals: readonly { readonly nothing: string }[] }, Api.Costs>>;
