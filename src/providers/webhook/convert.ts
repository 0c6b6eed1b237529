/**
 * Between the wire's forms (contract.ts) and core's: pure functions, nothing is guessed, what is absent is null.
 *
 * Everything that comes in here has passed its schema.
 */
import type { CommitmentOffer } from '../../core/price/commitment-offer.js';
import { parseDecimal, type Decimal } from '../../core/decimal.js';
import { assert } from '../../core/errors.js';
import type { Effect, FleetTarget } from '../../core/fleet/fleet.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import { formatMoney, nanosOf, rateOf, type RateUnit } from '../../core/money.js';
import type { EffectOutcome } from '../../core/ports.js';
import { providerName, type PriceEvent } from '../../core/price/price.js';
import { GPU_PARTS, type UsageRecord } from '../../core/usage.js';
import {
  PER,
  type WireEffect,
  type WireOffer,
  type WireOutcome,
  type WirePrice,
  type WireRecord,
  type WireTarget,
} from './contract.js';

const iso = (at: number): string => new Date(at).toISOString();
const instantOf = (text: string | null | undefined): number | null =>
  typeof text === 'string' ? Date.parse(text) : null;
const modelNamed = (text: string | null | undefined): string | null =>
  typeof text === 'string' ? (modelOf(text) ?? text) : null;

function decimal(text: string): Decimal {
  const parsed = parseDecimal(text);
  assert(parsed !== null, 'an amount has passed its schema');
  return parsed;
}

function nanos(text: string): bigint {
  const exact = nanosOf(decimal(text));
  assert(exact !== null, 'an amount has at most nine digits after the point');
  return exact;
}

/** `account`: the connection's, where the target names none. */
export function targetOf(wire: WireTarget, account: string | null): FleetTarget {
  const replicas = wire.replicas ?? null;
  return {
    target: wire.target,
    kind: wire.kind,
    name: wire.name,
    provider: providerName(wire.provider),
    account: wire.account ?? account,
    region: wire.region ?? null,
    sku: wire.sku ?? null,
    gpuModel: modelNamed(wire.gpuModel),
    gpus: wire.gpus ?? null,
    term: wire.term ?? null,
    state: wire.state,
    billing: wire.billing,
    replicas:
      replicas === null
        ? null
        : {
            desired: replicas.desired,
            ready: replicas.ready ?? null,
            min: replicas.min ?? null,
            max: replicas.max ?? null,
          },
    spotRatio: wire.spotRatio ?? null,
    labels: wire.labels ?? {},
    launchedAt: instantOf(wire.launchedAt),
    revision: wire.revision ?? null,
    ...(Array.isArray(wire.knownAs) ? { knownAs: wire.knownAs } : {}),
    ...(typeof wire.network === 'string' ? { network: wire.network } : {}),
    ...(typeof wire.zone === 'string' ? { zone: wire.zone } : {}),
    ...(Array.isArray(wire.movesTo) ? { movesTo: wire.movesTo } : {}),
  };
}

export function wireTarget(target: FleetTarget): WireTarget {
  const {
    name,
    kind,
    provider,
    account,
    region,
    sku,
    gpuModel,
    gpus,
    term,
    state,
    billing,
    replicas,
    spotRatio,
    labels,
    launchedAt,
    revision,
    knownAs,
    network,
    zone,
    movesTo,
  } = target;
  return {
    target: target.target,
    kind,
    name,
    provider,
    account,
    region,
    sku,
    gpuModel,
    gpus,
    term,
    state,
    billing,
    replicas,
    spotRatio,
    labels,
    launchedAt: launchedAt === null ? null : iso(launchedAt),
    revision,
    ...(knownAs === undefined ? {} : { knownAs: [...knownAs] }),
    ...(network === undefined ? {} : { network }),
    ...(zone === undefined ? {} : { zone }),
    ...(movesTo === undefined ? {} : { movesTo: [...movesTo] }),
  };
}

export function wireEffect(effect: Effect): WireEffect {
  if (effect.kind !== 'purchase') return effect;
  const { mostNanos, currency, gpus: _own, ...rest } = effect;
  return { ...rest, most: formatMoney({ nanos: mostNanos, currency }), currency };
}

/** `account`: the connection's, where the record names none. */
export function recordOf(wire: WireRecord, account: string | null): UsageRecord {
  const tags = wire.tags ?? {};
  const gpus = wire.gpus ?? null;
  return {
    id: wire.id,
    provider: providerName(wire.provider),
    account: wire.account ?? account,
    subAccount: wire.subAccount ?? null,
    resource: wire.resource ?? null,
    namespace: wire.namespace ?? null,
    service: wire.service ?? null,
    sku: wire.sku ?? null,
    region: wire.region ?? null,
    term: wire.term ?? null,
    gpuModel: modelNamed(wire.gpuModel),
    tags: Object.keys(tags).length === 0 ? null : tags,
    start: Date.parse(wire.start),
    end: Date.parse(wire.end),
    // The schema holds it to thousandths: Math.round only takes the float's own error away.
    gpuParts: gpus === null ? null : Math.round(gpus * 1000) * (GPU_PARTS / 1000),
    storageMib: wire.storageMib ?? null,
    networkBytes: wire.networkBytes ?? null,
    charge: null,
  };
}

const UNITS: Readonly<Record<keyof typeof PER, { readonly unit: RateUnit; readonly quantity: number }>> = {
  'instance-hour': { unit: 'gpu-second', quantity: 3600 },
  'gpu-hour': { unit: 'gpu-second', quantity: 3600 },
  'gpu-second': { unit: 'gpu-second', quantity: 1 },
  'gib-hour': { unit: 'gib-second', quantity: 3600 },
  gib: { unit: 'gib', quantity: 1 },
};

/** `source`: what the prices are said to come from. */
export function priceOf(wire: WirePrice, source: string): PriceEvent {
  const provider = providerName(wire.provider);
  const region = wire.region ?? null;
  if (wire.event === 'withdrawn')
    return { kind: 'withdrawn', provider, sku: wire.sku, region, at: Date.parse(wire.at) };
  const { unit, quantity } = UNITS[wire.per];
  const stated = wire.gpus ?? null;
  // Where the GPUs are a fraction, both sides of the rate are taken times 1000, so that both stay whole.
  const scale = stated === null || Number.isInteger(stated) ? 1 : 1000;
  const amount = decimal(wire.price);
  const rate =
    wire.per === 'instance-hour' && stated !== null
      ? rateOf(
          { unscaled: amount.unscaled * BigInt(scale), scale: amount.scale },
          wire.currency,
          BigInt(quantity) * BigInt(Math.round(stated * scale)),
          unit,
        )
      : rateOf(amount, wire.currency, BigInt(quantity), unit);
  return {
    kind: 'price',
    price: {
      provider,
      sku: wire.sku,
      region,
      term: wire.term,
      upfront: wire.upfront ?? 'none',
      component: PER[wire.per],
      gpuModel: modelNamed(wire.gpuModel),
      gpus: stated ?? (unit === 'gpu-second' ? 1 : null),
      rate,
      effectiveFrom: Date.parse(wire.effectiveFrom),
      effectiveTo: instantOf(wire.effectiveTo),
      incrementSeconds: wire.incrementSeconds ?? 1,
      minimumSeconds: wire.minimumSeconds ?? 0,
      source,
    },
  };
}

export function offerOf(wire: WireOffer): CommitmentOffer {
  return {
    offer: wire.offer,
    kind: wire.kind,
    sku: wire.sku ?? null,
    region: wire.region ?? null,
    termHours: wire.termHours,
    upfront: wire.upfront,
    upfrontNanos: nanos(wire.upfrontAmount),
    hourlyNanos: nanos(wire.hourlyAmount),
    currency: wire.currency,
  };
}

/** `clean` takes out what must not be shown. */
export function outcomeOf(wire: WireOutcome, clean: (text: string) => string): EffectOutcome {
  switch (wire.outcome) {
    case 'taken':
      return { kind: 'taken', reference: wire.reference ?? null, detail: clean(wire.detail ?? '') };
    case 'refused':
      return { kind: 'refused', code: wire.code, detail: clean(wire.detail ?? '') };
    case 'absent':
      return { kind: 'absent' };
    case 'unknown':
      return { kind: 'unknown', detail: clean(wire.detail ?? '') };
  }
}
