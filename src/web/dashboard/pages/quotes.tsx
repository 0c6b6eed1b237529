/**
 * What a run would cost: its cheapest places, a quote for one against the team's budgets, and a reservation for the
 * run. Nothing is bought here.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { modelOf } from '../../../core/fleet/gpu-model.js';
import { TERMS, type Term } from '../../../core/usage.js';
import type { Places, Quote } from '../answers.js';
import { refusal, send } from '../api.js';
import { code } from '../format.js';
import { say } from '../language.js';
import { useTask } from '../loading.js';
import { placeColumns, Unable } from '../places.js';
import { Quoted, type QuotedRun } from '../quoted.js';
import { link } from '../router.js';
import { Table } from '../table.js';
import { TeamPick } from '../team-pick.js';
import { Act, AsWritten, Card, Empty, Field, Form, Page, Problems, Select } from '../ui.js';

const KINDS = ['training', 'inference'] as const;
const MOST_PLACES = 20;

/** The contents of the form. */
export interface Run {
  readonly gpu: string;
  readonly gpus: string;
  readonly hours: string;
  readonly memory: string;
  readonly kind: string;
  readonly team: string;
  readonly terms: readonly Term[];
}

const START: Run = {
  gpu: 'H100',
  gpus: '8',
  hours: '24',
  memory: '0',
  kind: 'training',
  team: '',
  terms: ['on-demand'],
};

/** Where the text names no known model, the request covers every place with enough memory. */
const placementOf = ({ gpu, gpus, hours, memory, kind, terms }: Run): unknown => {
  const model = modelOf(gpu);
  return {
    kind,
    gpus: Number(gpus),
    hours: Number(hours),
    memoryGibPerGpu: Number(memory),
    most: MOST_PLACES,
    ...(model === null ? {} : { models: [model] }),
    ...(terms.length === 0 ? {} : { terms }),
    // A training runs wholly on spot or not at all.
    spotShareMax: terms.includes('spot') ? 1 : 0,
  };
};

export function Quotes(): JSX.Element {
  const [run, setRun] = useState(START);
  const [places, setPlaces] = useState<Places | null>(null);
  const [quoted, setQuoted] = useState<QuotedRun | null>(null);
  const finding = useTask(async () => {
    setQuoted(null);
    setPlaces(null);
    setPlaces(await send<Places>('POST', '/v1/placements', placementOf(run)));
  });
  const quoting = useTask(async (request: QuotedRun['request']) => {
    setQuoted(null);
    const team = run.team === '' ? null : run.team;
    setQuoted({ request, team, quote: await send<Quote>('POST', '/v1/quotes', { ...request, team }) });
  });
  const { gpu } = run;
  return (
    <Page
      title={say('page.quotes')}
      lead={say('quotes.lead')}
      actions={<a href={link('reservations')}>{say('quotes.reservations')}</a>}
    >
      <Card title={say('quotes.run')}>
        <Asked run={run} onChange={setRun} isBusy={finding.isBusy} onAsk={finding.run} />
        {gpu.trim() !== '' && modelOf(gpu) === null ? <p class="note">{say('quotes.no-model', { gpu })}</p> : null}
        <Problems trouble={finding.trouble} />
      </Card>
      {places === null ? null : (
        <Card title={say('quotes.places')}>
          <Found
            places={places}
            onQuote={({ provider, sku, region, term, upfront }, gpus, hours) =>
              quoting.run({ provider, sku, region, term, upfront, gpus, hours })
            }
          />
          <Problems trouble={quoting.trouble} />
        </Card>
      )}
      {quoted === null ? null : (
        <Quoted
          key={JSON.stringify([quoted.request, quoted.team])}
          quoted={quoted}
          refused={refusal('configure') ?? (quoted.team === null ? say('quotes.whose') : null)}
        />
      )}
    </Page>
  );
}

function Asked({
  run,
  onChange,
  isBusy,
  onAsk,
}: {
  readonly run: Run;
  readonly onChange: (run: Run) => void;
  readonly isBusy: boolean;
  readonly onAsk: () => void;
}): JSX.Element {
  const set = (change: Partial<Run>): void => onChange({ ...run, ...change });
  return (
    <Form onSend={onAsk}>
      <div class="fields">
        <Field label={say('dimension.gpuModel')}>
          {(ids) => (
            <input {...ids} value={run.gpu} onInput={({ currentTarget }) => set({ gpu: currentTarget.value })} />
          )}
        </Field>
        <NumberOf label={say('column.gpus')} least="1" step="1" value={run.gpus} onSet={(gpus) => set({ gpus })} />
        <NumberOf label={say('quotes.hours')} least="0.1" value={run.hours} onSet={(hours) => set({ hours })} />
        <NumberOf label={say('quotes.memory')} least="0" value={run.memory} onSet={(memory) => set({ memory })} />
        <Select
          label={say('field.kind')}
          value={run.kind}
          options={KINDS.map((one) => [one, say(`quotes.${one}`)] as const)}
          onPick={(kind) => set({ kind })}
        />
        <TeamPick value={run.team} none={say('quotes.no-team')} onPick={(team) => set({ team })} />
      </div>
      <fieldset class="field">
        <legend>{say('quotes.terms')}</legend>
        {TERMS.map((term) => (
          <label key={term} class="check">
            <input
              type="checkbox"
              checked={run.terms.includes(term)}
              onChange={() => set({ terms: TERMS.filter((one) => (one === term) !== run.terms.includes(one)) })}
            />{' '}
            {code('term', term)}
          </label>
        ))}
      </fieldset>
      <div class="buttons">
        <Act tone="primary" isBusy={isBusy}>
          {say('quotes.find')}
        </Act>
      </div>
    </Form>
  );
}

function NumberOf({
  label,
  least,
  step = 'any',
  value,
  onSet,
}: {
  readonly label: string;
  readonly least: string;
  readonly step?: string;
  readonly value: string;
  readonly onSet: (value: string) => void;
}): JSX.Element {
  return (
    <Field label={label}>
      {(ids) => (
        <input
          {...ids}
          type="number"
          required
          min={least}
          step={step}
          value={value}
          onInput={({ currentTarget }) => onSet(currentTarget.value)}
        />
      )}
    </Field>
  );
}

function Found({
  places,
  onQuote,
}: {
  readonly places: Places;
  readonly onQuote: (part: Places['runnersUp'][number]['parts'][number], gpus: number, hours: number) => void;
}): JSX.Element {
  const { best, runnersUp, more, currency, assumptions } = places;
  const rows = [...(best === null ? [] : [{ ...best, lost: [] }]), ...runnersUp];
  return (
    <>
      {rows.length === 0 ? (
        <Empty>{say('quotes.nowhere')}</Empty>
      ) : (
        <Table
          caption={say('quotes.places')}
          file="places"
          columns={placeColumns(currency, onQuote)}
          rows={rows}
          keyOf={({ parts }) => JSON.stringify(parts)}
        />
      )}
      {more === 0 ? null : <p class="note">{say('quotes.more', { n: more })}</p>}
      <Unable refused={places.refused} />
      {assumptions.map((text) => (
        <p class="note" key={text}>
          <AsWritten>{text}</AsWritten>
        </p>
      ))}
    </>
  );
}
