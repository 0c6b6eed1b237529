/**
 * The allocation rules, and a workbench for what no rule matches: its common values, one click from a rule; and the
 * effect of the rules on each team's costs before they are saved.
 */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { AllocationRule, RuleMatch } from '../../../core/cost/allocation.js';
import type { Schema, Team } from '../answers.js';
import { get, list, refusal, send } from '../api.js';
import { Ask } from '../ask.js';
import { amountColumn, numberColumn } from '../columns.js';
import { DraftNotes } from '../draft-notes.js';
import { useDraft } from '../drafts.js';
import { focusOn } from '../focus.js';
import { Inner, tidy } from '../form.js';
import { decimal, money } from '../format.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Table, type Column } from '../table.js';
import { Act, Card, Empty, Field, Form, Problems, Said, Show } from '../ui.js';
import { schemaNamed } from './schemas.js';
import type { RuleCandidates, RulePreview } from '../answers.js';

type Candidate = RuleCandidates['rows'][number];
interface Versioned {
  readonly rules: readonly AllocationRule[];
  readonly version: number;
}
interface Loaded extends Versioned {
  readonly schema: Schema;
  readonly candidates: RuleCandidates;
}

/** The field of the change with the rules. */
const RULES = 'rules';

/** `tag team=research`, `account 1234`. */
const matchText = (match: RuleMatch): string =>
  Object.entries(match)
    .map(([field, value]) =>
      typeof value === 'string'
        ? `${field} ${value}`
        : `${field} ${(value as { key: string }).key}=${(value as { value: string }).value}`,
    )
    .join(', ');

async function rulesNow(halt?: AbortSignal): Promise<Versioned> {
  const { rules, version } = await get<Versioned>('/v1/rules', {}, halt);
  return { rules, version };
}

export function Rules(): JSX.Element {
  const refused = refusal('read', true);
  const loaded = useLoaded('settings rules', async (halt): Promise<Loaded> => {
    const [{ rules, version }, schema, candidates] = await Promise.all([
      rulesNow(halt),
      schemaNamed('RuleChange'),
      get<RuleCandidates>('/v1/rules/candidates', {}, halt),
    ]);
    return { rules, version, schema, candidates };
  });
  const [said, setSaid] = useState('');
  if (refused !== null) return <Empty>{refused}</Empty>;
  const saved = (): void => {
    setSaid(say('settings.rules-saved'));
    loaded.again();
  };
  return (
    <>
      <Show loaded={loaded}>{(data) => <Workbench key={data.version} {...data} onSaved={saved} />}</Show>
      <Said>{said}</Said>
    </>
  );
}

function Workbench({
  rules,
  version,
  schema,
  candidates,
  onSaved,
}: Loaded & { readonly onSaved: () => void }): JSX.Element {
  const server = useMemo((): Versioned => ({ rules, version }), [rules, version]);
  const draft = useDraft('rules', server);
  const wanted = draft.values.rules;
  const [preview, setPreview] = useState<RulePreview | null>(null);
  const setWanted = (next: readonly AllocationRule[]): void => {
    draft.set({ ...draft.values, rules: next });
    setPreview(null);
  };
  const body = (): unknown => ({ rules: tidy(wanted), replaces: draft.base.version });
  const ask = useTask(async () => setPreview(await send<RulePreview>('POST', '/v1/rules/preview', body())));
  const save = useTask(async () => {
    if (draft.isOutdated(await rulesNow())) return;
    await send('PUT', '/v1/rules', body());
    draft.settle(await rulesNow());
    onSaved();
  });
  return (
    <>
      <Card title={say('settings.unallocated')}>
        <Unallocated candidates={candidates} onPick={(match, team) => setWanted([...wanted, { match, team }])} />
      </Card>
      <Card title={say('settings.rules')}>
        <p>{say('settings.rules-first')}</p>
        <DraftNotes draft={draft} shown={({ rules: theirs }) => ({ rules: theirs })} />
        <Form onSend={ask.run}>
          <RuleList rules={wanted} schema={schema.properties?.[RULES]?.items ?? {}} onSet={setWanted} />
          <div class="buttons">
            <Act isBusy={ask.isBusy} refused={refusal('configure', true)}>
              {say('settings.preview')}
            </Act>
            <Act tone="primary" isBusy={save.isBusy} refused={refusal('configure', true)} onAct={save.run}>
              {say('settings.save')}
            </Act>
          </div>
        </Form>
        <Problems trouble={save.trouble ?? ask.trouble} />
      </Card>
      {preview === null ? null : <Moves preview={preview} />}
    </>
  );
}

const candidateColumns = (pick: (one: Candidate) => void): readonly Column<Candidate>[] => [
  { name: say('column.what'), text: ({ match }) => matchText(match) },
  amountColumn(say('column.cost'), ({ cost }) => cost),
  numberColumn(
    say('explorer.gpu-hours'),
    ({ gpuHours }) => gpuHours,
    (gpuHours) => (gpuHours === null ? '–' : decimal(gpuHours)),
  ),
  {
    name: say('settings.rule'),
    text: () => '',
    cell: (one) => (
      <button
        type="button"
        onClick={() => pick(one)}
        aria-label={say('settings.make-rule-of', { what: matchText(one.match) })}
      >
        {say('settings.make-rule')}
      </button>
    ),
  },
];

function Unallocated({
  candidates: { from, to, rows },
  onPick,
}: {
  readonly candidates: RuleCandidates;
  readonly onPick: (match: RuleMatch, team: string) => void;
}): JSX.Element {
  const [picked, setPicked] = useState<Candidate | null>(null);
  if (rows.length === 0) return <Empty>{say('settings.all-allocated', { from, to })}</Empty>;
  return (
    <>
      <p>{say('settings.unallocated-lead', { from, to })}</p>
      {picked === null ? null : (
        <ToTeam
          key={matchText(picked.match)}
          match={picked.match}
          onPick={(team) => {
            onPick(picked.match, team);
            setPicked(null);
          }}
          onLeave={() => setPicked(null)}
        />
      )}
      <Table
        caption={say('settings.unallocated')}
        file="unallocated"
        columns={candidateColumns(setPicked)}
        rows={rows}
        keyOf={({ match, currency }) => `${matchText(match)} ${currency}`}
      />
    </>
  );
}

/** The team for a value: by default the tag's own value, since most tags name the team. */
function ToTeam({
  match,
  onPick,
  onLeave,
}: {
  readonly match: RuleMatch;
  readonly onPick: (team: string) => void;
  readonly onLeave: () => void;
}): JSX.Element {
  const loaded = useLoaded('teams to pick', (halt) => list<Team>('/v1/teams', {}, halt));
  const [team, setTeam] = useState(match.tag?.value ?? match.namespace ?? '');
  const isKnown = loaded.data?.items.some(({ id }) => id === team) === true;
  return (
    <Ask
      name={matchText(match)}
      yes={say('settings.add-rule')}
      tone="primary"
      isBusy={false}
      onYes={() => onPick(team)}
      onLeave={onLeave}
    >
      <Field
        label={say('settings.give-to', { what: matchText(match) })}
        note={isKnown || team === '' ? undefined : say('settings.new-team')}
      >
        {(ids) => (
          <input
            {...ids}
            type="text"
            list="known-team"
            required
            value={team}
            onInput={({ currentTarget }) => setTeam(currentTarget.value)}
          />
        )}
      </Field>
    </Ask>
  );
}

/** A rule's team or shares. */
const takerText = (rule: AllocationRule): string =>
  'team' in rule
    ? rule.team
    : 'split' in rule
      ? rule.split.by === 'fixed'
        ? Object.entries(rule.split.shares)
            .map(([team, share]) => `${team} ${share}`)
            .join(', ')
        : say('settings.by-use')
      : '';

interface Numbered {
  readonly rule: AllocationRule;
  readonly at: number;
}

const ruleColumns = (buttonsOf: (at: number) => JSX.Element): readonly Column<Numbered>[] => [
  { name: say('settings.number'), text: ({ at }) => String(at + 1), number: ({ at }) => at },
  { name: say('column.what'), text: ({ rule }) => matchText(rule.match) || say('settings.stop-all') },
  { name: say('column.team'), text: ({ rule }) => takerText(rule) },
  { name: say('settings.change-it'), text: () => '', cell: ({ at }) => <div class="buttons">{buttonsOf(at)}</div> },
];

function RuleButtons({
  at,
  isOpen,
  onOpen,
  onFirst,
  onRemove,
}: {
  readonly at: number;
  readonly isOpen: boolean;
  readonly onOpen: () => void;
  readonly onFirst: () => void;
  readonly onRemove: () => void;
}): JSX.Element {
  const number = <span class="hidden"> {at + 1}</span>;
  return (
    <>
      <button type="button" aria-expanded={isOpen} onClick={onOpen}>
        {say('settings.edit')}
        {number}
      </button>
      {at === 0 ? null : (
        <button type="button" onClick={onFirst}>
          {say('settings.first')}
          {number}
        </button>
      )}
      <button type="button" onClick={onRemove}>
        {say('settings.remove')}
        {number}
      </button>
    </>
  );
}

/** The rules in their order, one of them open for editing. */
function RuleList({
  rules,
  schema,
  onSet,
}: {
  readonly rules: readonly AllocationRule[];
  readonly schema: Schema;
  readonly onSet: (next: readonly AllocationRule[]) => void;
}): JSX.Element {
  const [open, setOpen] = useState<number | null>(null);
  /** Puts one rule first, or takes it away. */
  const take = (at: number, isKept: boolean): void => {
    onSet([...rules.filter((_, n) => isKept && n === at), ...rules.filter((_, n) => n !== at)]);
    setOpen(null);
  };
  const numbered = rules.map((rule, at) => ({ rule, at }));
  return (
    <>
      <Table
        caption={say('settings.rules')}
        file="rules"
        columns={ruleColumns((at) => (
          <RuleButtons
            at={at}
            isOpen={open === at}
            onOpen={() => setOpen(open === at ? null : at)}
            onFirst={() => take(at, true)}
            onRemove={() => take(at, false)}
          />
        ))}
        rows={numbered}
        keyOf={({ at }) => String(at)}
      />
      {open === null ? null : (
        <fieldset key={open} ref={focusOn} class="group" tabIndex={-1}>
          <legend>
            {say('settings.rule')} {open + 1}
          </legend>
          <Inner
            schema={schema}
            value={rules[open]}
            onSet={(next) => onSet(rules.map((other, n) => (n === open ? ((next ?? {}) as AllocationRule) : other)))}
          />
        </fieldset>
      )}
      <p>
        <button
          type="button"
          onClick={() => {
            onSet([...rules, { match: {}, team: '' }]);
            setOpen(rules.length);
          }}
        >
          {say('settings.new-rule')}
        </button>
      </p>
    </>
  );
}

type Move = RulePreview['teams'][number];
const changeOf = ({ before, after }: Move): number => Number(after ?? 0) - Number(before ?? 0);

function Moves({ preview: { teams } }: { readonly preview: RulePreview }): JSX.Element {
  const moved = teams.filter((one) => changeOf(one) !== 0 || one.unpricedBefore !== one.unpricedAfter);
  if (moved.length === 0) return <Empty>{say('settings.no-moves')}</Empty>;
  const columns: readonly Column<Move>[] = [
    { name: say('column.team'), text: ({ team }) => team },
    ...(['before', 'after'] as const).map(
      (side): Column<Move> => amountColumn(say(`proof.${side}`), (one) => one[side]),
    ),
    {
      name: say('explorer.change'),
      text: (one) => String(changeOf(one)),
      number: changeOf,
      cell: (one) => money(changeOf(one).toFixed(2), one.currency),
    },
  ];
  return (
    <Card title={say('settings.moves')}>
      <Table
        caption={say('settings.moves')}
        file="rules-preview"
        columns={columns}
        rows={moved}
        keyOf={({ team, currency }) => `${team} ${currency}`}
      />
    </Card>
  );
}
