/** bursar quote: what a run would cost. A quote without a price says why and exits 1; it never makes one up. */
import { Option, type Command } from 'commander';
import type { NoQuote, Quote } from '../../core/quote.js';
import { TERMS, type Term } from '../../core/usage.js';
import { aboveZero } from '../flags.js';
import type { Session } from '../session.js';
import { printable, table } from '../table.js';

interface QuoteFlags {
  readonly provider: string;
  readonly sku: string;
  readonly gpus: number;
  readonly hours: number;
  readonly term: Term;
  readonly region?: string;
  readonly upfront?: 'none' | 'partial' | 'all';
  readonly currency?: string;
}

export function addQuote(program: Command, session: Session): void {
  program.command('quote')
    .description('Say what a number of GPUs for a number of hours would cost, and what else would do.')
    .requiredOption('--provider <name>', 'aws, google cloud, alibaba cloud, ...')
    .requiredOption('--sku <sku>', 'an instance type, or a GPU model: the cheapest SKU with it')
    .requiredOption('--gpus <n>', 'GPUs, not instances', aboveZero)
    .requiredOption('--hours <h>', 'hours of the run', aboveZero)
    .addOption(new Option('--term <term>', 'how it is bought').choices(TERMS).default('on-demand'))
    .option('--region <region>', 'the cheapest region where absent')
    .addOption(new Option('--upfront <how>', 'how a reservation is paid').choices(['none', 'partial', 'all']))
    .option('--currency <code>', "the price's own where absent")
    .addHelpText('after', `
The price of now holds for the whole run; the seller's billing increment and minimum and the peak schedule apply.

Example:
  bursar quote --provider aws --sku p5.48xlarge --gpus 8 --hours 720 --term reserved-1y`)
    .action(async ({ region, upfront, currency, ...asked }: QuoteFlags) => {
      const quote = await (await session.door()).quote({ ...asked, region: region ?? null, upfront: upfront ?? null, currency: currency ?? null });
      if ('unpriced' in quote) session.found();
      session.print(quote, () => ('unpriced' in quote ? noQuoteText(quote) : quoteText(quote)));
    });
}

function quoteText(quote: Quote): string {
  const { cost, currency, unitPrice, provider, sku, region, term, gpus, hours, billedHours, source, effectiveFrom, assumptions, alternatives } = quote;
  const place = region === null ? '' : ` in ${region}`;
  const lines = [
    `${cost} ${currency} for ${gpus} GPU(s) over ${hours} h: ${provider} ${sku}${place}, ${term}`,
    `${unitPrice} ${currency} per GPU-hour, ${billedHours} h billed, by ${source} (holds since ${effectiveFrom})`,
    ...assumptions.map((text) => `Taken for granted: ${text}`),
  ].map((line) => `${printable(line)}\n`).join('');
  if (alternatives.length === 0) return lines;
  return `${lines}\nInstead:\n${table(['term', 'upfront', 'region', 'cost', 'per GPU-hour'], alternatives.map((a) => [a.term, a.upfront, a.region, a.cost, a.unitPrice]))}`;
}

function noQuoteText({ message, close }: NoQuote): string {
  const near = close.length === 0 ? '' : `\nThese come close: ${close.join(', ')}`;
  return `${printable(`No quote: ${message}`)}${printable(near) === ' ' ? '' : near}\n`;
}
