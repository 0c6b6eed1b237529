/** Unusual spend and prices, each with the expected value, its drivers, and the affected days. */
import type { JSX } from 'preact';
import type { Anomaly } from '../answers.js';
import { titleOf } from '../alert-news.js';
import { list } from '../api.js';
import { instantColumn } from '../columns.js';
import { moved } from '../cost-question.js';
import { day, instant, money, price } from '../format.js';
import { joined, say } from '../language.js';
import { useLoaded } from '../loading.js';
import { go, link, place } from '../router.js';
import { Listing, type Column } from '../table.js';
import { TeamPick } from '../team-pick.js';
import { Amount, Page, Show } from '../ui.js';

/** Where to look: for spend the team's costs of the day, by SKU; for a price the lists. */
const addressOf = ({ anomaly }: Anomaly): string =>
  anomaly.kind === 'price'
    ? link('imports')
    : link('costs', null, {
        from: anomaly.day,
        to: moved(anomaly.decidedDay, 1),
        team: anomaly.team,
        'group-by': 'sku',
      });

const expectedOf = ({ anomaly }: Anomaly): string =>
  anomaly.kind === 'price'
    ? price(anomaly.expected, anomaly.currency)
    : say('range', {
        mean: money(anomaly.expected.mean, anomaly.currency),
        low: money(anomaly.expected.low, anomaly.currency),
        high: money(anomaly.expected.high, anomaly.currency),
      });

const driversOf = ({ anomaly }: Anomaly): string =>
  anomaly.kind === 'price'
    ? ''
    : joined(anomaly.drivers.slice(0, 3).map(({ name, cost }) => `${name} ${money(cost, anomaly.currency, true)}`));

const columns = (): readonly Column<Anomaly>[] => [
  {
    name: say('column.about'),
    text: ({ anomaly }) => titleOf(anomaly),
    cell: (one) => <a href={addressOf(one)}>{titleOf(one.anomaly)}</a>,
  },
  {
    name: say('column.team'),
    text: ({ anomaly }) => anomaly.team ?? '',
    cell: ({ anomaly: { team } }) =>
      team === null ? <span class="quiet">{say('anomalies.price')}</span> : <a href={link('teams', team)}>{team}</a>,
  },
  {
    name: say('column.since'),
    text: ({ anomaly }) => (anomaly.kind === 'price' ? anomaly.effectiveFrom : anomaly.day),
    cell: ({ anomaly }) => (anomaly.kind === 'price' ? instant(anomaly.effectiveFrom) : day(anomaly.day)),
  },
  {
    name: say('anomalies.observed'),
    text: ({ anomaly }) => anomaly.observed,
    number: ({ anomaly }) => Number(anomaly.observed),
    cell: ({ anomaly }) =>
      anomaly.kind === 'price' ? (
        price(anomaly.observed, anomaly.currency)
      ) : (
        <Amount amount={anomaly.observed} currency={anomaly.currency} />
      ),
  },
  { name: say('alert.expected'), text: expectedOf },
  { name: say('drivers'), text: driversOf },
  instantColumn(say('anomalies.found'), ({ foundAt }) => foundAt),
];

export function Anomalies(): JSX.Element {
  const team = place.value.query.get('team') ?? '';
  const loaded = useLoaded(`anomalies ${team}`, (halt) =>
    list<Anomaly>('/v1/anomalies', { team: team === '' ? null : team }, halt, 500),
  );
  return (
    <Page title={say('page.anomalies')} lead={say('anomalies.lead')}>
      <div class="fields">
        <TeamPick value={team} onPick={(next) => go(link('anomalies', null, { team: next }))} />
      </div>
      <Show loaded={loaded}>
        {({ items, more }) => (
          <Listing
            items={items}
            note={more ? say('newest.500') : null}
            empty={say(team === '' ? 'anomalies.empty' : 'anomalies.none')}
            caption={say('page.anomalies')}
            file="anomalies"
            columns={columns()}
            keyOf={({ id }) => id}
          />
        )}
      </Show>
    </Page>
  );
}
