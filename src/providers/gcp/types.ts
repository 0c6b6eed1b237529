/**
 * Machine types and accelerators: which GPUs a machine has, and the parts of its price.
 *
 * The invariant: a type that Google did not describe is unknown; only one that it described without an accelerator, and
 * that has none attached, has no GPU. A share of a card is a fraction, never a card. Sources: compute v1, MachineType
 * and AcceleratorConfig; Compute Engine, "GPU machine types" (models, memory, the shares of G4) and
 * "Accelerator-optimized machine family".
 */
import { Failure } from '../../core/errors.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { TypeGpus } from '../rpc.js';
import type { GoogleClient } from './client.js';
import type { Lacks } from './lists.js';
import { OPERATIONS, type Accelerator, type MachineType } from './operations.js';

/** Google's names that leave the memory open although only one size is sold. */
const MODELS: Readonly<Record<string, string>> = { 'nvidia-tesla-a100': 'A100-40GB', 'nvidia-tesla-v100': 'V100-16GB' };
/** With a licence for virtual workstations it is the same card. */
const WORKSTATION = /-vws$/;
/** Cards that are no GPUs: Cloud TPUs. */
const NO_GPU = /^(?:ct\d|tpu)/;
/** A slice of a card, whose size its name does not say. */
const SLICE = /vgpu/;

/** G4 sells an eighth, a quarter and a half of a card under these names. */
const SHARES: Readonly<Record<string, number>> = {
  'g4-standard-6': 0.125,
  'g4-standard-12': 0.25,
  'g4-standard-24': 0.5,
};

/** The last part of an accelerator's address, or its bare name. */
const nameOf = (accelerator: string): string => accelerator.slice(accelerator.lastIndexOf('/') + 1);

/** Cards of one kind in a machine. */
export interface Cards {
  /** As the API names it: `nvidia-tesla-t4`. */
  readonly type: string;
  readonly count: number;
}

/** The GPUs among attached accelerators. */
export const attachedCards = (all: readonly Accelerator[] | null | undefined): Cards[] =>
  cardsOf((all ?? []).map(({ acceleratorType, acceleratorCount }) => [acceleratorType, acceleratorCount]));

/** The GPUs that a type has built in. */
const builtIn = ({ accelerators }: MachineType): Cards[] =>
  cardsOf((accelerators ?? []).map((one) => [one.guestAcceleratorType, one.guestAcceleratorCount]));

const cardsOf = (all: readonly (readonly [string | null | undefined, number | null | undefined])[]): Cards[] =>
  all.flatMap(([type, count]) => {
    const name = nameOf(type ?? '').replace(WORKSTATION, '');
    return name === '' || NO_GPU.test(name) || (count ?? 0) <= 0 ? [] : [{ type: name, count: count ?? 0 }];
  });

/**
 * The GPUs of a machine of a type with what is attached to it.
 * @param type undefined: not known
 */
export function gpusOf(type: MachineType | undefined, attached: readonly Cards[]): TypeGpus {
  const cards = attached.length > 0 ? attached : type === undefined ? null : builtIn(type);
  if (cards === null) return { model: null, gpus: null };
  const [first, ...others] = cards;
  if (first === undefined) return { model: null, gpus: 0 };
  if (others.length > 0) return { model: null, gpus: null };
  const share = type === undefined ? undefined : SHARES[type.name];
  return {
    model: MODELS[first.type] ?? modelOf(first.type),
    gpus: share ?? (SLICE.test(first.type) ? null : first.count),
  };
}

/** The cards of a type itself; null: it has none, or several kinds. */
export function cardsOfType(type: MachineType): Cards | null {
  const [first, ...others] = builtIn(type);
  return first === undefined || others.length > 0 ? null : { ...first, count: SHARES[type.name] ?? first.count };
}

/**
 * The SKU of a machine: its type, or, if cards are attached to it (N1), the type with the cards. Both decide its price.
 */
export function skuOf(machineType: string, attached: readonly Cards[]): string {
  const [first, ...others] = attached;
  return first === undefined || others.length > 0 || !takesCards(machineType)
    ? machineType
    : `${machineType}+${first.count}x${first.type}`;
}

/** Whether cards are attached to a type, rather than built in: N1 alone (Compute Engine, "GPU machine types"). */
export const takesCards = (machineType: string): boolean => /^(?:n1-|custom-)/.test(machineType);

/** Types that are looked up at one time. */
const AT_ONCE = 8;

/** Machine types by their names: what one is does not change, and is the same in every zone. */
export class MachineTypes {
  private readonly known = new Map<string, MachineType>();

  constructor(private readonly client: GoogleClient) {}

  /**
   * Those of the types that Google knows.
   * @param wanted each with a zone that has it
   * @param lacks receives each type that Google did not answer for
   * @throws Failure denied if none may be asked for
   */
  async gpusOf(
    project: string,
    wanted: Iterable<{ readonly name: string; readonly zone: string }>,
    lacks: Lacks,
  ): Promise<ReadonlyMap<string, MachineType>> {
    const names = new Map([...wanted].map((one) => [one.name, one]));
    const missing = [...names.values()].filter(({ name }) => name !== '' && !this.known.has(name));
    for (let at = 0; at < missing.length; at += AT_ONCE)
      await Promise.all(missing.slice(at, at + AT_ONCE).map((one) => this.ask(project, one, lacks)));
    return new Map(
      [...names.keys()].flatMap((name): [string, MachineType][] => {
        const type = this.known.get(name);
        return type === undefined ? [] : [[name, type]];
      }),
    );
  }

  private async ask(project: string, { name, zone }: { name: string; zone: string }, lacks: Lacks): Promise<void> {
    try {
      const type = await this.client.find(OPERATIONS.machineType, { path: { project, zone, machineType: name } });
      if (type !== null) this.known.set(name, type);
    } catch (failure) {
      if (!(failure instanceof Failure) || failure.kind === 'denied') throw failure;
      lacks(`machine type ${name}: ${failure.message}`);
    }
  }
}
