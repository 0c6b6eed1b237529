/**
 * bursar quote: the cost of a run, whether the team's budgets can hold it, and where it would be cheapest. A quote
 * without a price says why and exits 1; it never makes one up.
 */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { sayInstant } from '../../core/time.js';
import { TERMS, type Term } from '../../core/usage.js';
import type { BudgetVerdict, NoQuote, PlacedPart, PlacementQuestion, Placements, Quote } from '../answers.js';
import { aboveZero, count, notNegative, pair } from '../flags.js';
import type { Session } from '../session.js';
import { printable, table, type Title } from '../table.js';
import { WrongUse } from '../usage-error.js';
import { reservationText } from './reservations.js';

interface QuoteFlags {
  readonly provider?: string;
  readonly sku: string;
  readonly gpus: number;
  readonly hours: number;
  readonly hoursLow?: number;
  readonly hoursHigh?: number;
  readonly restartHours?: number;
  readonly term: Term;
  readonly region?: string;
  readonly upfront?: 'none' | 'partial' | 'all';
  readonly currency?: string;
  readonly account?: string;
  readonly storage?: number;
  readonly storageSku?: string;
  readonly network?: number;
  readonly team?: string;
  readonly tag?: Readonly<Record<string, string>>;
  readonly reserve?: number | true;
  readonly reason: string;
  readonly kind: 'training' | 'inference';
  readonly memory?: number;
  readonly deadline?: number;
  readonly egress?: number;
  readonly gpusPerUnit?: number;
  readonly spotShare?: number;
  readonly places?: number;
}

export function register(program: Command, session: Session): void {
  program
    .command('quote')
    .option('--provider <name>', 'aws, google cloud, alibaba cloud, ... (required: a quote asks one provider)')
    .requiredOption('--sku <sku>', 'an instance type, or a GPU model: the cheapest SKU with it')
    .requiredOption('--gpus <n>', 'GPUs, not instances', aboveZero)
    .requiredOption('--hours <h>', 'hours of the run', aboveZero)
    .option('--hours-low <h>', 'it may end sooner', aboveZero)
    .option('--hours-high <h>', 'it may take longer', aboveZero)
    .option('--restart-hours <h>', 'what an interruption of spot costs', notNegative)
    .addOption(new Option('--term <term>', 'how it is bought').choices(TERMS).default('on-demand'))
    .option('--region <region>', 'default: the cheapest region')
    .addOption(new Option('--upfront <how>', 'how a reservation is paid').choices(['none', 'partial', 'all']))
    .option('--currency <code>', "default: the price's own")
    .option('--account <id>', 'billing account whose bills say what is really charged (default: any)')
    .option('--storage <gib>', 'GiB of storage while it runs', notNegative)
    .option('--storage-sku <name>', 'kind of storage, such as gp3 (default: the dearest that is sold there)')
    .option('--network <gib>', 'GiB that leave the cloud during the run', notNegative)
    .option('--team <team>', 'check whether its budgets, and those of the teams above, cover it')
    .option('--tag <key=value>', 'a tag of the future usage, for budgets that filter by tags; may be repeated', tag)
    .option(
      '--reserve [hours]',
      'reserve the budget for this many hours (without a number: the length of the run)',
      aboveZero,
    )
    .option('--reason <text>', 'what the reservation is for', '')
    .option(
      '--memory <gib>',
      'GiB per GPU that the workload needs; also show where it would be cheapest, by GPUs and --egress',
      notNegative,
    )
    .addOption(
      new Option('--kind <kind>', 'kind of the workload to place')
        .choices(['training', 'inference'])
        .default('training'),
    )
    .option('--deadline <h>', 'hours until the training must be done', aboveZero)
    .option('--egress <gib>', 'GiB that leave the cloud', notNegative)
    .option('--gpus-per-unit <n>', 'GPUs that one instance must have', count)
    .option('--spot-share <ratio>', 'largest share that may be spot, 0 to 1', notNegative)
    .option('--places <n>', 'runners-up to list', count)
    .addHelpText(
      'after',
      `
The quote uses the current price for the whole run, the seller's billing increment and minimum, and the peak schedule.
A launch whose usage has the tag bursar.io/reservation=<id> uses up that reservation.

Examples:
  bursar quote --provider aws --sku p5.48xlarge --gpus 8 --hours 720 --term reserved-1y
  bursar quote --provider aws --sku H100 --gpus 8 --hours 48 --hours-high 60 --team research --memory 80 --reserve`,
    )
    .action(async (flags: QuoteFlags) => answer(session, flags));
}

async function answer(session: Session, flags: QuoteFlags): Promise<void> {
  const {
    sku,
    gpus,
    hours,
    term,
    hoursLow,
    hoursHigh,
    restartHours,
    region,
    upfront,
    currency,
    account,
    storage,
    storageSku,
    network,
    team,
    reserve: hold,
    reason,
  } = flags;
  if (hold !== undefined && team === undefined)
    throw new WrongUse('--reserve needs --team: the team whose budget is reserved');
  const tags = flags.tag ?? null;
  const request = {
    provider: providerOf(flags),
    sku,
    gpus,
    hours,
    hoursLow: hoursLow ?? null,
    hoursHigh: hoursHigh ?? null,
    restartHours: restartHours ?? null,
    term,
    region: region ?? null,
    upfront: upfront ?? null,
    currency: currency ?? null,
    account: account ?? null,
    storageGib: storage ?? null,
    storageSku: storageSku ?? null,
    networkGib: network ?? null,
  };
  const { quotes } = await session.client();
  const quote = await quotes.quote({ ...request, team: team ?? null, tags, placement: placementOf(flags) });
  if ('unpriced' in quote) {
    session.reportFinding();
    return session.print(quote, () => noQuoteText(quote));
  }
  const reservation =
    hold === undefined || team === undefined
      ? null
      : await quotes.reserve({ ...request, tags, team, reason, holdHours: hold === true ? null : hold });
  session.print({ ...quote, reservation }, () =>
    [
      quoteText(quote),
      budgetsText(quote),
      placementsText(quote.placements),
      reservation === null ? '' : `\n${reservationText(reservation)}`,
    ].join(''),
  );
}

function providerOf({ provider }: QuoteFlags): string {
  if (provider !== undefined) return provider;
  throw new WrongUse(
    'a quote asks one provider: name it with --provider, such as aws. Without --region the answer is its cheapest region; to compare providers, ask once for each',
  );
}

/** Null if no memory was given: nothing is to be placed. */
function placementOf({
  kind,
  memory,
  deadline,
  egress,
  gpusPerUnit,
  spotShare,
  places,
}: QuoteFlags): PlacementQuestion | null {
  if (memory === undefined) {
    if ([deadline, egress, gpusPerUnit, spotShare, places].some((flag) => flag !== undefined))
      throw new WrongUse(
        '--deadline, --egress, --gpus-per-unit, --spot-share and --places say where a workload may run: they need --memory too',
      );
    return null;
  }
  return {
    kind,
    memoryGibPerGpu: memory,
    spotShareMax: spotShare ?? 0,
    restOfTermUsed: false,
    most: places ?? 5,
    ...(deadline === undefined ? {} : { deadlineHours: deadline }),
    ...(egress === undefined ? {} : { egressGib: egress }),
    ...(gpusPerUnit === undefined ? {} : { gpusPerUnitMin: gpusPerUnit }),
  };
}

function tag(text: string, before: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const [key, value] = pair(text, '=', 'key=value');
  if (key === '__proto__') throw new InvalidArgumentError('It is not a key.');
  return { ...before, [key]: value };
}

/** What a cost is made of, where there is more than GPUs. */
function madeOf({ gpu, storage, network }: Quote['parts'], storageSku: string | null): string[] {
  if (storage === null && network === null) return [];
  const held = storage === null ? [] : [`${storage} for storage${storageSku === null ? '' : ` (${storageSku})`}`];
  const sent = network === null ? [] : [`${network} for network`];
  return [`Made of ${[`${gpu} for GPUs`, ...held, ...sent].join(', ')}`];
}

function quoteText(quote: Quote): string {
  const {
    cost,
    currency,
    parts,
    interval,
    storageSku,
    unitPrice,
    provider,
    sku,
    region,
    term,
    gpus,
    hours,
    billedHours,
    source,
    effectiveFrom,
    learned,
    assumptions,
    alternatives,
  } = quote;
  const place = region === null ? '' : ` in ${region}`;
  const lines = [
    `${cost} ${currency} for ${gpus} GPU(s) over ${hours} h: ${provider} ${sku}${place}, ${term}`,
    `${unitPrice} ${currency} per GPU-hour, ${billedHours} h billed, by ${source} (holds since ${effectiveFrom})`,
    ...madeOf(parts, storageSku),
    ...(learned === null
      ? []
      : [
          `List price: ${learned.listCost} ${currency}, ${learned.listUnitPrice} per GPU-hour; ${learned.source} shows that ${learned.ratio} of it is charged`,
        ]),
    `From ${interval.low} to ${interval.high} ${currency}: ${interval.because.join('; ')}`,
    ...interval.leavesOut.map((text) => `Not included: ${text}`),
    ...assumptions.map((text) => `Assumed: ${text}`),
  ]
    .map((line) => `${printable(line)}\n`)
    .join('');
  return `${lines}\n${placesTable([
    { provider, sku, gpus, region, term, upfront: null, unitPrice, cost, currency, isChosen: true, because: null },
    ...alternatives.map((one) => ({ provider, sku, gpus, ...one, currency, isChosen: false, because: null })),
  ])}`;
}

interface Place {
  readonly provider: string;
  readonly sku: string;
  readonly gpus: number;
  readonly region: string | null;
  readonly term: string;
  readonly upfront: string | null;
  readonly unitPrice: string | null;
  readonly cost: string;
  readonly currency: string;
  readonly isChosen: boolean;
  /** Why it is not. */
  readonly because: string | null;
}

const LOST_BY: Title = { title: 'lost by', below: true };
const PER_GPU_HOUR: Title = { title: 'per GPU-hour', rest: true };
const PLACE_TITLES: readonly Title[] = [
  'provider',
  'SKU',
  'GPUs',
  'region',
  { title: 'term', below: true },
  { title: 'upfront', rest: true },
  PER_GPU_HOUR,
  'cost',
  'currency',
  'chosen',
];

/** What was looked at, cheapest first, as a table of places; what is chosen has a mark. */
function placesTable(places: readonly Place[]): string {
  const isExplained = places.some(({ because }) => because !== null);
  const hasUnitPrice = places.some(({ unitPrice }) => unitPrice !== null);
  const titles = hasUnitPrice ? PLACE_TITLES : PLACE_TITLES.filter((title) => title !== PER_GPU_HOUR);
  const rows = places
    .toSorted((one, other) => Number(one.cost) - Number(other.cost))
    .map((place) => [
      place.provider,
      place.sku,
      place.gpus,
      place.region,
      place.term,
      place.upfront,
      ...(hasUnitPrice ? [place.unitPrice] : []),
      place.cost,
      place.currency,
      { text: place.isChosen ? '✔' : '', csv: place.isChosen ? 'yes' : 'no' },
      ...(isExplained ? [place.because] : []),
    ]);
  return table([...titles, ...(isExplained ? [LOST_BY] : [])], rows);
}

function budgetsText({ budgets }: Quote): string {
  if (budgets === null) return '';
  if (budgets.budgets.length === 0) return `\nNo budget over team ${printable(budgets.team)} covers this.\n`;
  const row = ({
    budget,
    verdict,
    left,
    leftOnForecast,
    reserved,
    currency,
    periodEnd,
    reasons,
  }: BudgetVerdict): (string | null)[] => [
    budget,
    verdict,
    left?.before ?? null,
    left?.after ?? null,
    leftOnForecast?.after ?? null,
    reserved,
    currency,
    sayInstant(Date.parse(periodEnd)),
    reasons.join('; '),
  ];
  return `\nBudgets of ${printable(budgets.team)}: ${budgets.verdict}\n${table(['budget', 'verdict', 'left', 'after', 'at the end', 'reserved', 'currency', 'until', 'because'], budgets.budgets.map(row))}`;
}

function placementsText(placements: Placements | null): string {
  if (placements === null) return '';
  const { best, runnersUp, more, refused, assumptions, currency } = placements;
  const places = [...(best === null ? [] : [{ ...best, lost: [] }]), ...runnersUp].map(
    ({ parts, gpus, cost, lost }, at): Place => {
      const joined = (each: (part: PlacedPart) => string | null): string =>
        [...new Set(parts.map((part) => each(part) ?? 'any'))].join(' + ');
      return {
        provider: joined((part) => part.provider),
        sku: parts.map(({ sku, units }) => `${units} x ${sku}`).join(' + '),
        gpus,
        region: joined((part) => part.region),
        term: joined((part) => part.term),
        upfront: joined((part) => part.upfront),
        unitPrice: null,
        cost,
        currency,
        isChosen: best !== null && at === 0,
        because: lost.length === 0 ? null : lost.map(({ message }) => message).join('; '),
      };
    },
  );
  const placed =
    places.length === 0
      ? '\nNothing can serve the workload.\n'
      : `\nCheapest places:\n${placesTable(places)}${more === 0 ? '' : `${more} more can serve it.\n`}`;
  const granted = assumptions.map((text) => `${printable(`Assumed: ${text}`)}\n`).join('');
  return (
    placed +
    granted +
    (refused.length === 0
      ? ''
      : `\nCannot serve it:\n${table(
          ['prices', 'reason', 'such as'],
          refused.map(({ kind, count: prices, example }) => [prices, kind, example]),
        )}`)
  );
}

function noQuoteText({ message, close }: NoQuote): string {
  const near = close.length === 0 ? '' : `\nThese come close: ${close.join(', ')}`;
  return `${printable(`No quote: ${message}`)}${printable(near) === ' ' ? '' : near}\n`;
}
