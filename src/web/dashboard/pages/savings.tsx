/** The savings ledger: what each action saved against what would have happened otherwise; and one entry, hour by hour. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { addDecimal, formatDecimal, parseDecimal, ZERO } from '../../../core/decimal.js';
import { LEDGER_STATES, type LedgerState } from '../../../core/saving.js';
import type { Page as List, Saving, SavingDetail, SavingTotals } from '../answers.js';
import { get } from '../api.js';
import { count, instant, money, several, shown, words } from '../format.js';
import { useLoaded } from '../loading.js';
import { Picture, type Series } from '../picture.js';
import { go, link, place } from '../router.js';
import { Table, type Column } from '../table.js';
import { Amount, Amounts, Badge, Card, Empty, Facts, Figure, Instant, Page, Select, Show, type Tone } from '../ui.js';

const TONES: Readonly<Partial<Record<LedgerState, Tone>>> = { verified: 'good', unverifiable: 'bad' };
type Answer = List<Saving> & { readonly totals: SavingTotals };

const isClaimed = ({ state }: Saving): boolean => state === 'measured' || state === 'verified';

const columns: readonly Column<Saving>[] = [
  { name: 'Action', text: ({ effectKind, target }) => `${words(effectKind)} ${target}`, cell: ({ action, effectKind, target }) => <a href={link('savings', action)}>{words(effectKind)} {target}</a> },
  { name: 'Team', text: ({ team }) => team, cell: ({ team }) => <a href={link('teams', team)}>{team}</a> },
  { name: 'State', text: ({ state }) => state, cell: ({ state, reason }) => <><Badge tone={TONES[state] ?? 'plain'}>{words(state)}</Badge>{reason === null ? null : <div class="note">{words(reason)}</div>}</> },
  { name: 'Saved', text: (one) => (isClaimed(one) ? one.saved : ''), number: (one) => (isClaimed(one) ? Number(one.saved) : null), cell: (one) => <Amount amount={isClaimed(one) ? one.saved : null} currency={one.currency} /> },
  { name: 'Of it verified', text: ({ verified }) => verified, number: ({ verified }) => Number(verified), cell: ({ verified, currency }) => <Amount amount={verified} currency={currency} /> },
  { name: 'Estimated per month', text: ({ estimatedMonthlySavings }) => estimatedMonthlySavings ?? '', number: ({ estimatedMonthlySavings }) => (estimatedMonthlySavings === null ? null : Number(estimatedMonthlySavings)), cell: ({ estimatedMonthlySavings, currency }) => <Amount amount={estimatedMonthlySavings} currency={currency} /> },
  { name: 'Since', text: ({ from }) => from, cell: ({ from }) => <Instant at={from} /> },
];

export function Savings(): JSX.Element {
  const { query } = place.value;
  const [team, state] = [query.get('team') ?? '', query.get('state') ?? ''];
  const loaded = useLoaded(`ledger ${team} ${state}`, (halt) => get<Answer>('/v1/savings', { limit: 500, team: team === '' ? null : team, state: state === '' ? null : state }, halt));
  return (
    <Page title="Savings" lead={team === '' ? 'Every saving is measured against what would have happened otherwise' : `Of the team ${team}`}
      actions={<Select label="State" value={state} options={[['', 'All'], ...LEDGER_STATES.map((one) => [one, words(one)] as const)]} onPick={(next) => go(link('savings', null, { team, state: next }))} />}>
      <Show loaded={loaded}>{({ items, totals, nextCursor }) => (
        <>
          <Card title="In all"><Totals totals={totals} /></Card>
          {items.length === 0 ? <Empty>The ledger is empty. An entry is made when an action is applied; its hours are measured as the usage comes in, and verified by the bill. <a href={link('recommendations')}>Look at what is recommended</a>.</Empty>
            : <>{nextCursor === null ? null : <p class="warning">Only the newest 500 are listed; the totals are of all.</p>}<Table caption="The savings ledger" file="savings" columns={columns} rows={items} keyOf={({ action }) => action} isCaptionHidden /></>}
        </>
      )}</Show>
    </Page>
  );
}

function Totals({ totals: { verified, measured, estimated, unverifiable } }: { readonly totals: SavingTotals }): JSX.Element {
  return (
    <dl class="figures">
      <Figure name="Verified" value={<Amounts amounts={verified.saved} />} note="every hour priced, and the closed bill agrees" />
      <Figure name="Measured" value={<Amounts amounts={measured.saved} />} note="the bill is not closed yet" />
      <Figure name="Estimated per month" value={<Amounts amounts={estimated.monthly} />} note={`${several(estimated.count, 'action')}, nothing measured yet`} />
      <Figure name="Unverifiable" value={count(unverifiable.count)} note={unverifiable.reasons.map(({ reason, count: n }) => `${words(reason).toLowerCase()} ${count(n)}`).join(', ') || 'nothing is claimed for these'} />
    </dl>
  );
}

export function SavingPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`saving ${id}`, (halt) => get<SavingDetail>(`/v1/savings/${encodeURIComponent(id)}`, { limit: 1000 }, halt));
  return (
    <Page title={loaded.data === null ? `Saving of ${id}` : `Saved by: ${words(loaded.data.effectKind).toLowerCase()} ${loaded.data.target}`} actions={<span class="links"><a href={link('actions', id)}>The action</a> <a href={link('savings')}>The ledger</a></span>}>
      <Show loaded={loaded}>{(saving) => <Entry saving={saving} />}</Show>
    </Page>
  );
}

type Hour = SavingDetail['ledger']['items'][number];

const hourColumns: readonly Column<Hour>[] = [
  { name: 'Hour', text: ({ hour }) => hour, cell: ({ hour }) => instant(hour) },
  { name: 'State', text: ({ state }) => state, cell: ({ state, reason }) => <>{words(state)}{reason === null ? null : <span class="note"> {words(reason)}</span>}</> },
  { name: 'Would have cost', text: ({ counterfactual }) => counterfactual, number: ({ counterfactual }) => Number(counterfactual), cell: (one) => <Amount amount={one.counterfactual} currency={one.currency} /> },
  { name: 'Cost', text: ({ actual }) => actual, number: ({ actual }) => Number(actual), cell: (one) => <Amount amount={one.actual} currency={one.currency} /> },
  { name: 'Saved', text: ({ saved }) => saved, number: ({ saved }) => Number(saved), cell: (one) => <Amount amount={one.saved} currency={one.currency} /> },
];

function seriesOf(hours: readonly Hour[], days: readonly string[]): Series[] {
  const byDay = Map.groupBy(hours.filter(({ state }) => state === 'measured' || state === 'verified'), ({ hour }) => hour.slice(0, 10));
  const sums = (field: 'counterfactual' | 'actual'): (string | null)[] => days.map((day) => {
    const of = byDay.get(day);
    return of === undefined ? null : formatDecimal(of.reduce((sum, hour) => addDecimal(sum, parseDecimal(hour[field]) ?? ZERO), ZERO));
  });
  return [{ name: 'Cost', values: sums('actual') }, { name: 'Would have cost', values: sums('counterfactual'), isLimit: true }];
}

function Entry({ saving }: { readonly saving: SavingDetail }): JSX.Element {
  const { currency, ledger, counterfactual } = saving;
  const days = useMemo(() => [...new Set(ledger.items.map(({ hour }) => hour.slice(0, 10)))].sort(), [ledger]);
  const series = useMemo(() => seriesOf(ledger.items, days), [ledger]);
  return (
    <>
      <Card title="In all">
        <dl class="figures">
          <Figure name="Saved" value={<Amount amount={isClaimed(saving) ? saving.saved : null} currency={currency} />} note={words(saving.state)} />
          <Figure name="Would have cost" value={<Amount amount={saving.counterfactualCost} currency={currency} />} />
          <Figure name="Cost" value={<Amount amount={saving.actualCost} currency={currency} />} />
          <Figure name="Hours" value={count(saving.hours.measured + saving.hours.verified)} note={saving.hours.unverifiable === 0 ? 'all can be verified' : `${count(saving.hours.unverifiable)} more cannot be verified`} />
        </dl>
        <p>From {instant(saving.from)}; nothing is claimed after {instant(saving.until)}.</p>
      </Card>
      <Card title="What would have held otherwise"><Facts facts={Object.entries(counterfactual.world).map(([name, value]) => [words(name), shown(value)])} />
        {saving.sharedWith.length === 0 ? null : <p>The target's saving is shared with {saving.sharedWith.map((other) => <a key={other} href={link('savings', other)}>{other} </a>)}</p>}
      </Card>
      <Card title="Day by day">{days.length === 0 ? <Empty>No hour is measured yet: they come with the usage.</Empty>
        : <Picture title="Cost per day, and what it would have been" summary={`${money(saving.saved, currency)} between the two lines, over ${several(days.length, 'day')}.`} days={days} series={series} currency={currency} kind="lines" file={`saving-${saving.action}`} />}</Card>
      {ledger.items.length === 0 ? null : <Card title="Hour by hour">{ledger.nextCursor === null ? null : <p class="warning">The first thousand hours are shown.</p>}<Table caption="Hours of the ledger" file={`hours-${saving.action}`} columns={hourColumns} rows={ledger.items} keyOf={({ hour }) => hour} isCaptionHidden /></Card>}
    </>
  );
}
