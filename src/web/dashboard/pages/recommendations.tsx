/** What is recommended, by what it would save; an address with an id opens one. */
import type { JSX } from 'preact';
import { byLowEnd } from '../../../core/policy/recommendation.js';
import type { StoredRecommendation } from '../answers.js';
import { get, list } from '../api.js';
import { instantColumn, teamColumn } from '../columns.js';
import { Deciding } from '../deciding.js';
import { Ends } from '../expected.js';
import { code, money, within } from '../format.js';
import { say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import { Bar } from '../saves.js';
import type { Column } from '../table.js';
import { Amount, AsWritten, Page, Select, Show } from '../ui.js';
import { Became, filterOf, isEnglishOnly, nameOf, One } from './recommendation.js';

const STATUSES = ['open', 'observed', 'approved', 'rejected', 'superseded', 'expired'] as const;
const saving = (one: StoredRecommendation): number | null =>
  one.estimatedMonthlySavings === null ? null : Number(one.estimatedMonthlySavings);

const columns = (): readonly Column<StoredRecommendation>[] => [
  { name: say('column.what'), text: ({ title }) => title, cell: (one) => <Named one={one} /> },
  teamColumn(),
  { name: say('column.policy'), text: ({ policy }) => policy, isMinor: true },
  {
    name: say('column.saves'),
    text: ({ estimatedMonthlySavings }) => estimatedMonthlySavings ?? '',
    number: saving,
    cell: (one) =>
      one.protective && one.estimatedMonthlySavings === null ? (
        <span class="quiet">{say('saves.protects')}</span>
      ) : (
        <>
          <Amount amount={one.estimatedMonthlySavings} currency={one.currency} whole />
          <Bar one={one} />
          <Ends
            mean={one.estimatedMonthlySavings}
            low={one.estimatedMonthlySavingsLow}
            high={one.estimatedMonthlySavingsHigh}
            currency={one.currency}
          />
          <OfCost one={one} />
        </>
      ),
  },
  { name: say('column.interruption'), text: ({ risk }) => within(code('risk', risk.interruption)) },
  instantColumn(say('column.until'), ({ expiresAt }) => expiresAt),
];

/** Below a saving: of what. Nothing where either is unknown. */
const OfCost = ({ one }: { readonly one: StoredRecommendation }): JSX.Element | null =>
  one.estimatedMonthlySavings === null || one.estimatedMonthlyCost === null ? null : (
    <div class="note">{say('saves.of', { cost: money(one.estimatedMonthlyCost, one.currency, true) })}</div>
  );

function Named({ one }: { readonly one: StoredRecommendation }): JSX.Element {
  return (
    <>
      <a href={link('recommendations', one.id, filterOf())}>{nameOf(one)}</a>
      <div class="note">
        <Became one={one} />
      </div>
      {!isEnglishOnly(one) ? null : (
        <div class="note">
          <AsWritten>{one.title}</AsWritten>
        </div>
      )}
    </>
  );
}

export function Recommendations(): JSX.Element {
  const { id } = place.value;
  return id === null ? <All /> : <ById key={id} id={id} />;
}

/** Whatever its status: a link to it holds when it has been decided, too. */
function ById({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`recommendation ${id}`, (halt) =>
    get<StoredRecommendation>(`/v1/recommendations/${encodeURIComponent(id)}`, {}, halt),
  );
  if (loaded.data !== null) return <One one={loaded.data} again={loaded.again} />;
  return (
    <Page
      title={say('page.recommendations')}
      actions={<a href={link('recommendations', null, filterOf())}>{say('recommendations.all')}</a>}
    >
      <Show loaded={loaded}>{() => null}</Show>
    </Page>
  );
}

function All(): JSX.Element {
  const { team, status } = filterOf();
  const asked = status === '' ? 'open' : status;
  const loaded = useLoaded(`recommendations ${team} ${asked}`, async (halt) => {
    const words = { status: asked, team: team === '' ? null : team };
    const { items, more } = await list<StoredRecommendation>('/v1/recommendations', words, halt);
    return { items: [...items].sort(byLowEnd), more };
  });
  return (
    <Page
      title={say('page.recommendations')}
      lead={team === '' ? say('recommendations.lead') : say('of-team', { team })}
      actions={
        <Select
          label={say('column.status')}
          value={asked}
          options={STATUSES.map((one) => [one, code('status', one)])}
          onPick={(next) => go(link('recommendations', null, { team, status: next }))}
        />
      }
    >
      <Deciding
        loaded={loaded}
        nameOf={(one) => `${nameOf(one)} (${one.team})`}
        path="/v1/recommendations"
        summary={say('deciding.each')}
        columns={columns()}
        many={say('recommendations.many')}
        empty={<Nothing status={asked} />}
        caption={say('page.recommendations')}
        file="recommendations"
      />
    </Page>
  );
}

/** Why there is none, and where to go on. */
const Nothing = ({ status }: { readonly status: string }): JSX.Element =>
  status === 'open' ? (
    <Rich
      of="recommendations.empty"
      given={{
        a: (inner) => <a href={link('imports')}>{inner}</a>,
        policies: (inner) => <a href={link('policies')}>{inner}</a>,
      }}
    />
  ) : (
    <>{say('recommendations.none', { status: within(code('status', status)) })}</>
  );
