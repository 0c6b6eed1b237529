/**
 * docs/reference/policies.md as text, made of the policies themselves: their schemas, their examples. It decides
 * nothing.
 */
import { describePolicy } from '../../src/core/policy/description.js';
import { POLICY_MODES } from '../../src/core/policy/document.js';
import type { Policy } from '../../src/core/policy/policy.js';

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

const HEAD = `# Policies

This page is made of the policies' own schemas and examples (tests/unit/policies/reference.test.ts compares it; \`BURSAR_WRITE_DOCS=1\` writes it anew).

A policy looks at one team at one instant and proposes actions. A **policy document**, YAML or JSON, says for whom it holds and how far it goes:

\`\`\`yaml
name: research-brake        # letters, digits and . _ -
policy: budget-brake        # one of those below
teams: [research]           # exactly these teams; '*' (or ['*']): all, also what belongs to no team (unallocated)
mode: recommend             # ${POLICY_MODES.join(', ')}
params: { restartHours: 0.5 }
priority: 10                # higher wins; 0 where absent
\`\`\`

\`bursar policies validate FILE\` names every problem, \`bursar policies apply FILE\` makes it hold; REST: \`PUT /v1/policies/NAME\`. Where there is no document, \`idle-stop\`
and \`reserve-baseline\` recommend to every team. The first document of your own takes the place of both: a policy that no document holds for a team says nothing there, and
\`bursar explain\` and \`bursar doctor\` say so.

| mode | what it does |
|---|---|
| observe | keeps what it would propose with the status \`observed\`: nobody can decide it, and it competes with no other policy |
| recommend | recommendations, for people to carry out |
| approve | recommendations that are carried out once somebody approves them |
| enforce | carried out without asking. Needs a backtest of the same policy, version and parameters on the history of every team (\`bursar backtest policy\`), or a reason that goes into the audit |

**One winner per subject.** Where several documents want something of one workload, resource or kind of GPU, the action decides first (Stop and Release; Replace; Keep; ScaleIn; the
moves; Rightsize; ScaleOut and Start; purchases; RefuseLaunches; Notify), then the document's priority, then the larger known saving, then the name. What lost stays on the
winner as \`insteadOf\`, with the rule by which it lost. Of documents that set one size by a load (target-tracking, step-scaling) the one that wants most replicas is asked alone (of those that are carried out furthest: one that only recommends silences none that is enforced), and a scale-in is made only where none of
the others holds the size or has lost sight of its metric, as in Kubernetes' autoscaler with several metrics. The groups of a service that a document promises (spot-serving, in mode approve or enforce) are left to that
document, except by a brake and by the replacement of a broken machine; what a brake has made smaller no policy enlarges before it lifts.

**Savings** are made of the numbers in the view: prices, metered hours, recorded availability. Where one is missing the saving is null, which is unknown and not zero. Evidence that
is missing never makes a stop or a scale-in. Beside it stands what the target costs untouched (\`estimatedMonthlyCost\`): a saving beyond it, or of a cost that nobody knows, is refused and shown as unknown, with \`refused\` among the
numbers used; what calibration or the width of an interval would make of it is cut to the cost, with \`savingBeforeBoundNanos\`.
`;

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (value: unknown): string => `\`${JSON.stringify(value)}\``;

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((one) => code(one)).join(', ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.items !== undefined)
    return `list of ${schema.items.properties === undefined ? typeOf(schema.items) : 'objects'}`;
  const { minimum, maximum, exclusiveMinimum } = schema;
  const most = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`;
  const least =
    exclusiveMinimum !== undefined
      ? ` above ${exclusiveMinimum}`
      : minimum === undefined || minimum === Number.MIN_SAFE_INTEGER
        ? ''
        : ` ${minimum}`;
  return `${String(schema.type ?? 'any')}${least}${least === '' && most !== '' ? ` up to ${maximum}` : most}`;
}

function rowsOf(schema: Schema, prefix: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const inside = field.properties === undefined ? field.items : field;
    const own = `| \`${prefix}${name}\` | ${cell(typeOf(field))} | ${field.default === undefined ? '' : cell(code(field.default))} | ${cell(field.description ?? '')} |`;
    return [
      own,
      ...(inside?.properties === undefined
        ? []
        : rowsOf(inside, `${prefix}${name}${field.properties === undefined ? '[]' : ''}.`)),
    ];
  });
}

function sectionOf(policy: Policy): string {
  const { name, version, description, parameters, examples } = describePolicy(policy);
  const rows = rowsOf(parameters as Schema, '');
  return [
    `## ${name}`,
    '',
    `${description}. Version ${version}.`,
    '',
    '| parameter | values | default | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
    '| example | params | proposes |',
    '|---|---|---|',
    ...examples.map(
      ({ title, params, proposes }) =>
        `| ${cell(title)} | ${cell(code(params))} | ${proposes.length === 0 ? 'nothing' : proposes.map(({ action, target }) => `${action} \`${cell(target)}\``).join(', ')} |`,
    ),
    '',
  ].join('\n');
}

export const policyReference = (policies: readonly Policy[]): string =>
  `${HEAD}\n${policies.map(sectionOf).join('\n')}`;
