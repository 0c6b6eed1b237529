/**
 * bursar throughput: measured throughputs of trainings and services on different GPUs, and predictions from them.
 */
import { Option, type Command } from 'commander';
import { formatInstant, parseInstant } from '../../core/time.js';
import type { NewMeasurement, ThroughputMeasurement, ThroughputPrediction } from '../answers.js';
import { aboveZero, count } from '../flags.js';
import type { Session } from '../session.js';
import { grouped, table } from '../table.js';
import { WrongUse } from '../usage-error.js';

interface PredictFlags {
  readonly team: string;
  readonly model: string;
  readonly gpu: string;
  readonly gpus: number;
  readonly batch: number;
  readonly precision?: string;
  readonly optimizer?: string;
  readonly size?: number;
  readonly family?: string;
  readonly params?: number;
  readonly samples?: number;
  readonly provider?: string;
  readonly region?: string;
  readonly term: 'on-demand' | 'spot';
  readonly currency: string;
}

export function register(program: Command, session: Session): void {
  const throughput = program.command('throughput').addHelpText(
    'after',
    `
From the measurements, policies estimate other GPUs (mix) and backtests estimate other sizes of a job (ramp), for
workloads whose label bursar.io/model names the model.

Examples:
  bursar throughput --team research
  bursar throughput add measured.jsonl --team research
  bursar throughput predict --team research --model resnet50 --gpu H100 --gpus 8 --batch 512 --samples 1.2e8`,
  );

  throughput
    .command('list', { isDefault: true })
    .description('List what was measured, newest first.')
    .option('--team <team>', 'only of this one')
    .option('--model <model>', 'only of this one')
    .action(async ({ team, model }: { team?: string; model?: string }) => {
      const all = await (await session.client()).throughputs.measurements({ team: team ?? null, model: model ?? null });
      session.print({ measurements: all }, () => measuredTable(all, 'Nothing was measured.\n'));
    });

  throughput
    .command('add')
    .description('Add measurements: JSON lines with model, gpu, gpu_count, batch and samples_per_s.')
    .argument('<file>')
    .requiredOption('--team <team>', 'team that they belong to')
    .addHelpText(
      'after',
      `
Optional: family, params, size, optimizer, precision, nodes, peak_mem_mib (most memory of one GPU) and
measured_at. Rows without samples_per_s are skipped and counted.

Example:
  bursar throughput add measured.jsonl --team research`,
    )
    .action(async (file: string, { team }: { team: string }) => {
      // The lab is large, and no other verb needs it.
      const { readMeasurements, readText } = await import('../../lab/throughput/run.js');
      const { rows, skipped } = readMeasurements(await readText(file), file);
      const accepted = await (await session.client()).throughputs.add(team, handedOf(rows, file));
      session.print(
        { accepted, skipped },
        () => `${accepted} taken${skipped === 0 ? '' : `, ${skipped} without a throughput skipped`}\n`,
      );
    });

  addRemove(throughput, session);
  addPredict(throughput, session);
}

function addRemove(throughput: Command, session: Session): void {
  throughput
    .command('remove')
    .description('Remove a measurement that is wrong.')
    .argument('<id>')
    .addHelpText('after', '\nExample:\n  bursar throughput remove 12')
    .action(async (id: string) => {
      await (await session.client()).throughputs.remove(id);
      session.print({ removed: id }, () => `${id} is removed\n`);
    });
}

function addPredict(throughput: Command, session: Session): void {
  throughput
    .command('predict')
    .description('Predict a throughput, and the time and the cost to finish.')
    .requiredOption('--team <team>', 'team whose measurements of the model count')
    .requiredOption('--model <model>', 'what is run')
    .requiredOption('--gpu <model>', 'a GPU model')
    .requiredOption('--gpus <n>', 'GPUs in total', count)
    .requiredOption('--batch <n>', 'samples per step, as in the measurements', aboveZero)
    .option('--precision <name>', 'fp32, tf32, bf16, ...')
    .option('--optimizer <name>', 'sgd, adamw, ...')
    .option('--size <n>', 'image edge in pixels, or sequence length in tokens', aboveZero)
    .option('--family <name>', 'cnn, transformer, rnn, ... (default: derived from the name of the model)')
    .option('--params <n>', 'trainable parameters', aboveZero)
    .option('--samples <n>', 'samples until it is done, for the time and the cost', aboveZero)
    .option('--provider <name>', 'default: the cheapest')
    .option('--region <region>', 'default: the cheapest')
    .addOption(
      new Option('--term <term>', 'how the GPUs are bought').choices(['on-demand', 'spot']).default('on-demand'),
    )
    .option('--currency <code>', 'currency of the cost', 'USD')
    .addHelpText(
      'after',
      '\nExample:\n  bursar throughput predict --team research --model resnet50 --gpu H100 --gpus 8 --batch 512 --samples 1.2e8',
    )
    .action(
      async ({
        gpu,
        gpus,
        precision,
        optimizer,
        size,
        family,
        params,
        samples,
        provider,
        region,
        ...flags
      }: PredictFlags) => {
        const answer = await (await session.client()).throughputs.predict({
          ...flags,
          gpuModel: gpu,
          gpuCount: gpus,
          precision: precision ?? null,
          optimizer: optimizer ?? null,
          size: size ?? null,
          family: family ?? null,
          params: params ?? null,
          nodes: null,
          samples,
          provider,
          region,
        });
        session.print(answer, () => textOf(answer));
      },
    );
}

type Measured = ReturnType<typeof import('../../lab/throughput/run.js')['readMeasurements']>;

function handedOf(rows: Measured['rows'], file: string): NewMeasurement[] {
  const problems: { path: string; message: string }[] = [];
  const handed = rows.map(({ measurement: { gpu, ...measurement }, row }, at): NewMeasurement => {
    const { peak_mem_mib: peak, measured_at: when } = row;
    const instant = typeof when === 'string' ? parseInstant(when) : null;
    if (when !== undefined && when !== null && instant === null)
      problems.push({
        path: `${file}, measurement ${at + 1}`,
        message: 'measured_at is not a time: write 2026-10-01T00:00:00Z',
      });
    return {
      ...measurement,
      gpuModel: gpu,
      peakMemoryGib: typeof peak === 'number' && peak > 0 ? peak / 1024 : null,
      measuredAt: instant === null ? null : formatInstant(instant),
    };
  });
  if (problems.length > 0) throw new WrongUse('the measurements cannot be read', problems);
  return handed;
}

const measuredTable = (all: readonly ThroughputMeasurement[], none = ''): string =>
  table(
    ['id', 'team', 'model', 'GPU', 'GPUs', 'batch', 'precision', 'samples/s', 'measured'],
    all.map((one) => [
      one.id,
      one.team,
      one.model,
      one.gpuModel,
      String(one.gpuCount),
      String(one.batch),
      one.precision ?? '',
      one.samplesPerSecond.toPrecision(4),
      one.measuredAt,
    ]),
    none,
  );

function textOf({
  samplesPerSecond,
  isMeasured,
  low,
  high,
  measurements,
  background,
  secondsToFinish: time,
  cost,
  price,
}: ThroughputPrediction): string {
  const short = (value: number): string => (value >= 1000 ? grouped(Math.round(value)) : value.toPrecision(3));
  const hours = (seconds: number): string => short(seconds / 3600);
  return [
    isMeasured
      ? `${short(samplesPerSecond)} samples a second, as measured (${short(low)} to ${short(high)})`
      : `${short(samplesPerSecond)} samples a second, nine times in ten between ${short(low)} and ${short(high)}`,
    ...(isMeasured ? [] : [`from ${measurements} measurements of the model and ${background} of others`]),
    ...(time === null ? [] : [`${hours(time.expected)} hours to finish (${hours(time.low)} to ${hours(time.high)})`]),
    ...(cost === null || price === null ? [] : [`${cost.expected} ${price.currency} (${cost.low} to ${cost.high})`]),
    price === null
      ? 'no price of such GPUs is known'
      : `at ${price.perGpuHour} ${price.currency} per GPU-hour: ${price.provider} ${price.sku}${price.region === null ? '' : ` in ${price.region}`}, ${price.term}`,
  ]
    .map((line) => `${line}\n`)
    .join('');
}
