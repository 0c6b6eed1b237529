/**
 * Commitments of contracts, and the amounts that bills applied to them: stored with their import and delivery, and
 * deleted with these. Computes nothing; see core/bill/contracts.ts.
 *
 * The invariant: one statement of each source counts, the last that was not undone; a replaced bill applies nothing.
 */
import type { ContractUse } from '../../core/bill/contracts.js';
import { formatDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import { formatInstant } from '../../core/time.js';
import type { ContractCommitment } from '../../core/usage.js';
import { copyText, type Queryable, type Transaction } from '../database.js';

const TERMS = [
  'organisation',
  'call',
  'no',
  'source',
  'id',
  'contract',
  'provider',
  'category',
  'type',
  'description',
  'currency',
  'cost',
  'quantity',
  'unit',
  'start',
  'until',
];
const USES = [
  'organisation',
  'delivery',
  'no',
  'day',
  'commitment',
  'currency',
  'unit',
  'lines',
  'cost',
  'without_cost',
  'quantity',
  'without_quantity',
];

const lineOf = (cells: readonly (string | number | null)[]): string =>
  `${cells.map((cell) => copyText(typeof cell === 'number' ? String(cell) : cell)).join('\t')}\n`;
const amountText = (amount: Decimal | null): string | null => (amount === null ? null : formatDecimal(amount));
const amountOf = (text: string | null): Decimal | null => (text === null ? null : parseDecimal(text));

export async function writeContractUses(
  tx: Transaction,
  organisation: string,
  delivery: string,
  uses: readonly ContractUse[],
): Promise<void> {
  if (uses.length === 0) return;
  await tx.copy(
    'contract_use',
    USES,
    uses.map(({ day, commitment, currency, unit, lines, cost, withoutCost, quantity, withoutQuantity }, no) =>
      lineOf([
        organisation,
        delivery,
        no,
        day,
        commitment,
        currency,
        unit,
        lines,
        formatDecimal(cost),
        withoutCost,
        formatDecimal(quantity),
        withoutQuantity,
      ]),
    ),
  );
}

/**
 * Keeps what a call of a source states of contracts, in place of what the source stated before.
 * @returns false if it is the same: nothing is kept then
 */
export async function writeContracts(
  tx: Transaction,
  { organisation, source, call }: { readonly organisation: string; readonly source: string; readonly call: string },
  terms: readonly ContractCommitment[],
): Promise<boolean> {
  const texts = (all: readonly ContractCommitment[]): string =>
    all
      .map((one) => lineOf(cellsOf(one)))
      .sort()
      .join('');
  if (texts(await contractTerms(tx, organisation, source)) === texts(terms)) return false;
  await tx.copy(
    'contract_commitment',
    TERMS,
    terms.map((one, no) => lineOf([organisation, call, no, source, ...cellsOf(one)])),
  );
  return true;
}

const cellsOf = (one: ContractCommitment): (string | null)[] => [
  one.id,
  one.contract,
  one.provider,
  one.category,
  one.type,
  one.description,
  one.currency,
  amountText(one.cost),
  amountText(one.quantity),
  one.unit,
  formatInstant(one.start),
  formatInstant(one.end),
];

/** Takes back what a call stated: what its source stated before counts again. @returns how many commitments */
export async function dropContracts(tx: Queryable, organisation: string, call: string): Promise<number> {
  const rows = await tx.query(`delete from contract_commitment where organisation = $1 and call = $2 returning no`, [
    organisation,
    call,
  ]);
  return rows.length;
}

interface TermsRow extends Omit<ContractCommitment, 'cost' | 'quantity' | 'start' | 'end'> {
  readonly cost: string | null;
  readonly quantity: string | null;
  readonly start: Date;
  readonly until: Date;
}

/** The last statement of each source. */
export async function contractTerms(
  db: Queryable,
  organisation: string,
  source: string | null = null,
): Promise<ContractCommitment[]> {
  const rows = await db.query<TermsRow>(
    `select id, contract, provider, category, type, description, currency, cost::text as cost, quantity::text as quantity,
       unit, start, until from contract_commitment c
     where organisation = $1 and ($2::text is null or source = $2) and call = (
       select max(o.call) from contract_commitment o where o.organisation = c.organisation and o.source = c.source)
     order by source, c.no`,
    [organisation, source],
  );
  return rows.map(({ cost, quantity, start, until, ...row }) => ({
    ...row,
    cost: amountOf(cost),
    quantity: amountOf(quantity),
    start: start.getTime(),
    end: until.getTime(),
  }));
}

/** The amounts that counting bills apply, per day. */
export async function contractUses(db: Queryable, organisation: string): Promise<ContractUse[]> {
  const rows = await db.query<
    Record<'day' | 'commitment' | 'currency' | 'cost' | 'quantity', string> &
      Record<'lines' | 'withoutCost' | 'withoutQuantity', string> & { unit: string | null }
  >(
    `select day::text as day, commitment, currency, unit, sum(lines)::text as lines, sum(cost)::text as cost,
       sum(without_cost)::text as "withoutCost", sum(quantity)::text as quantity,
       sum(without_quantity)::text as "withoutQuantity"
     from contract_use c where organisation = $1
       and exists (select 1 from delivery d where d.organisation = c.organisation and d.id = c.delivery)
     group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    [organisation],
  );
  return rows.map(({ lines, cost, withoutCost, quantity, withoutQuantity, ...row }) => ({
    ...row,
    lines: Number(lines),
    cost: parseDecimal(cost) ?? ZERO,
    withoutCost: Number(withoutCost),
    quantity: parseDecimal(quantity) ?? ZERO,
    withoutQuantity: Number(withoutQuantity),
  }));
}
