/** What is recommended, by what it would save; and one recommendation: its numbers, its evidence, what it displaced, and what people decide. */
import type { JSX } from 'preact';
import type { StoredRecommendation } from '../answers.js';
import { list, refusal, send } from '../api.js';
import { BacktestButton } from '../backtest.js';
import { count, duration, instant, money, shown, words } from '../format.js';
import { useLoaded, useTask } from '../loading.js';
import { go, link, place } from '../router.js';
import { Table, type Column } from '../table.js';
import { Act, Amount, Badge, Card, Empty, Facts, Figure, Page, Problems, Said, Select, Show, type Tone } from '../ui.js';

const STATUSES = ['open', 'observed', 'approved', 'rejected', 'superseded', 'expired'] as const;
const TONES: Readonly<Record<string, Tone>> = { open: 'warn', approved: 'good', rejected: 'bad' };

const saving = (one: StoredRecommendation): number | null => (one.estimatedMonthlySavings === null ? null : Number(one.estimatedMonthlySavings));

const columns: readonly Column<StoredRecommendation>[] = [
  { name: 'What', text: ({ title }) => title, cell: (one) => <a href={link('recommendations', one.id, filterOf())}>{one.title}</a> },
  { name: 'Team', text: ({ team }) => team, cell: ({ team }) => <a href={link('teams', team)}>{team}</a> },
  { name: 'Policy', text: ({ policy }) => policy },
  { name: 'Saves per month', text: ({ estimatedMonthlySavings }) => estimatedMonthlySavings ?? '', number: saving,
    cell: (one) => (one.protective && one.estimatedMonthlySavings === null ? <span class="quiet">not made to save</span> : <Amount amount={one.estimatedMonthlySavings} currency={one.currency} whole />) },
  { name: 'Interruption', text: ({ risk }) => risk.interruption.toLowerCase() },
  { name: 'Until', text: ({ expiresAt }) => expiresAt, cell: ({ expiresAt }) => instant(expiresAt) },
];

function filterOf(): { readonly team: string; readonly status: string } {
  const { query } = place.value;
  return { team: query.get('team') ?? '', status: query.get('status') ?? '' };
}

export function Recommendations(): JSX.Element {
  const { id } = place.value;
  const { team, status } = filterOf();
  const asked = status === '' ? 'open' : status;
  const loaded = useLoaded(`recommendations ${team} ${asked}`, (halt) => list<StoredRecommendation>('/v1/recommendations', { status: asked, team: team === '' ? null : team }, halt));
  const found = loaded.data?.items.find((one) => one.id === id);
  if (id !== null && found !== undefined) return <One key={id} one={found} again={loaded.again} />;
  return (
    <Page title="Recommendations" lead={team === '' ? 'Of all teams that you may see, the largest known saving first' : `Of the team ${team}`}
      actions={<Select label="Status" value={asked} options={STATUSES.map((one) => [one, words(one)])} onPick={(next) => go(link('recommendations', null, { team, status: next }))} />}>
      {id !== null && !loaded.isLoading && loaded.trouble === null ? <p class="warning">{id} is not among these: it may have been decided, or replaced by a newer look.</p> : null}
      <Show loaded={loaded}>{({ items, more }) => {
        if (items.length === 0) return <Empty>{asked === 'open' ? <>Nothing is recommended now. Recommendations are made from metered use, prices and samples of utilisation: <a href="#/imports">import some</a>, or <a href={link('policies')}>see which policies hold</a>.</> : `No recommendation is ${asked}.`}</Empty>;
        const bySaving = [...items].sort((a, b) => (saving(b) ?? -Infinity) - (saving(a) ?? -Infinity));
        return <>{more ? <p class="warning">Only a thousand are listed here: choose a team to see all of its own.</p> : null}<Table caption="Recommendations" file="recommendations" columns={columns} rows={bySaving} keyOf={(one) => one.id} isCaptionHidden /></>;
      }}</Show>
    </Page>
  );
}

function One({ one, again }: { readonly one: StoredRecommendation; readonly again: () => void }): JSX.Element {
  const decide = useTask(async (verb: 'approve' | 'reject') => {
    const decided = await send<StoredRecommendation>('POST', `/v1/recommendations/${encodeURIComponent(one.id)}/${verb}`);
    if (decided.actionId !== null) go(link('actions', decided.actionId));
    else again();
    return verb === 'approve' ? (decided.obstacle === null ? 'Approved.' : `Approved; nothing carries it out: ${decided.obstacle.message}`) : 'Rejected.';
  });
  const refused = refusal('operator') ?? (one.status === 'open' ? null : `it is ${one.status}`);
  return (
    <Page title={one.title} lead={<><Badge tone={TONES[one.status] ?? 'plain'}>{one.status}</Badge> {words(one.action)} <code>{one.target}</code> for the team <a href={link('teams', one.team)}>{one.team}</a></>}
      actions={<a href={link('recommendations', null, filterOf())}>All recommendations</a>}>
      <Card title="What it would save">
        <dl class="figures">
          <Figure name="Estimated per month" value={one.protective && one.estimatedMonthlySavings === null ? 'not made to save' : <Amount amount={one.estimatedMonthlySavings} currency={one.currency} />}
            note={one.estimatedMonthlySavingsLow === null ? undefined : `80 % between ${money(one.estimatedMonthlySavingsLow, one.currency)} and ${money(one.estimatedMonthlySavingsHigh, one.currency)}`} />
          <Figure name="Interruption" value={one.risk.interruption} note={one.risk.note} />
          <Figure name="Effort" value={words(one.implementationEffort)} note={one.rollbackPossible ? 'can be taken back' : 'cannot be taken back'} />
        </dl>
        {one.obstacle === null ? null : <p class="warning">Nothing carries it out: {one.obstacle.message}</p>}
        <div class="buttons">
          <Act tone="primary" refused={refused} isBusy={decide.isBusy} onAct={() => decide.run('approve')}>Approve</Act>
          <Act refused={refused} isBusy={decide.isBusy} onAct={() => decide.run('reject')}>Reject</Act>
          {one.actionId === null ? null : <a href={link('actions', one.actionId)}>Its action</a>}
        </div>
        <Problems trouble={decide.trouble} /><Said>{decide.said}</Said>
      </Card>
      <div class="cards">
        <Card title="The numbers"><Facts facts={Object.entries(one.computation).map(([name, value]) => [words(name), shown(value)])} /></Card>
        <Card title="The evidence"><Evidence one={one} /></Card>
      </div>
      <Card title="Would it have been right before?">
        <p>The policy <a href={link('policies', one.document)}>{one.policy}</a> (version {count(one.policyVersion)}) can be run over the recorded history of the team.</p>
        <BacktestButton document={one.document} team={one.team} />
      </Card>
      {one.insteadOf.length === 0 ? null : <Card title="What it was preferred to"><ul class="plain">{one.insteadOf.map((other, at) => <li key={at}>{words(other.action)} {other.target} ({other.document}), by {other.because}; it would save {money(other.estimatedMonthlySavings, one.currency)} per month</li>)}</ul></Card>}
    </Page>
  );
}

function Evidence({ one }: { readonly one: StoredRecommendation }): JSX.Element {
  return (
    <>
      <ul class="plain">{one.evidence.map((each, at) => <li key={at}>{words(each.what)}<div class="note">{instant(each.from)} to {instant(each.to)}; {duration(each.ageSeconds)} old at the look</div></li>)}</ul>
      <Facts facts={[['Made', instant(one.madeAt)], ['Holds until', instant(one.expiresAt)], ...(one.decidedBy === null ? [] : [['Decided by', one.decidedBy] as const]), ...Object.entries(one.change).map(([name, value]) => [words(name), shown(value)] as const)]} />
    </>
  );
}
