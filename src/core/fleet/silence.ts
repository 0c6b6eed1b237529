/**
 * Whether a machine is lost after its exporter of GPU evidence fell silent: the conditions under which silence counts,
 * and the evidence against it.
 *
 * Pure. The invariant: silence alone never means a loss. A restarted exporter, a failed scrape, a blind monitor and a
 * machine that a person removed all look the same in one series; only witnesses that do not depend on the exporter
 * distinguish them.
 */
import type { Ended, RunState } from './fleet.js';

/** An exporter that fell silent, with its machine, as its source sees them. */
export interface SilentExporter {
  /** As GpuSample.exporter and exportersUp name it. */
  readonly exporter: string;
  /** The names of its machine: host and node names, addresses. */
  readonly names: readonly string[];
  /** The first failed scrape after its last answer, and the newest of any target of its machine; epoch milliseconds. */
  readonly since: number;
  readonly until: number;
  /** Its last answer, epoch milliseconds: it fell silent between that and `since`. Absent: not known. */
  readonly answeredAt?: number;
  /**
   * Failed scrapes within, of the exporter and of what else is scraped on its machine. A target that is not scraped any
   * more counts as one.
   */
  readonly failures: number;
  /** Other targets of its machine that answered shortly before: how many are silent now, and how many answer. */
  readonly othersSilent: number;
  readonly othersAnswering: number;
  /**
   * Machines with GPUs that are silent as a whole, this one with them, and machines of any kind that answer: whether it
   * is the source that is blind.
   */
  readonly machinesSilent: number;
  readonly machinesAnswering: number;
}

/** The requirements. Each is a default of the health rules. */
export interface SilenceParams {
  /**
   * The first and the newest failed scrape lie so far apart. A scrape fails for as long as its time-out, and a rolling
   * restart of one target takes seconds.
   */
  readonly silentAfterSeconds: number;
  /**
   * Failed scrapes, of the exporter and of what else is scraped on its machine: one is never enough, nor is one of each
   * of two.
   */
  readonly leastFailures: number;
  /** The same where its provider misses it too: two sources that know nothing of each other. */
  readonly leastFailuresIfMissed: number;
  /** A silence without news for this long says nothing about the present. */
  readonly silenceStaleSeconds: number;
  /** A provider that knows the machine and was not asked since is waited for, this long from the first failed scrape. */
  readonly unreadSeconds: number;
}

export const SILENCE_DEFAULTS: SilenceParams = {
  silentAfterSeconds: 10,
  leastFailures: 3,
  leastFailuresIfMissed: 2,
  silenceStaleSeconds: 120,
  unreadSeconds: 30,
};

/** The fleet's report about a machine, read after the silence began. */
export interface MachineReading {
  readonly state: RunState;
  /** Complete readings since that lacked it. */
  readonly missed: number;
  /** The group that it worked for has as many ready as it wants, without it; null: unknown. */
  readonly groupIsWhole: boolean | null;
  /** Who ends it, has ended or has stopped it, as its provider says; absent or null: it does not. */
  readonly ended?: Ended | null;
  /** Its provider's report that it is unhealthy, although it is called running; absent or null: none. */
  readonly unwell?: string | null;
}

export interface Silence extends SilentExporter {
  /** `unread`: a connection knows it, and none that does has read it since. Null: no connection knows such a machine. */
  readonly machine: MachineReading | 'unread' | null;
  /** Bursar's own action that removed it, or shrank its workload; null: none. */
  readonly takenAwayBy: string | null;
}

/**
 * `lost` with the witness, in words, and whether scrapes alone say so; `undecided`: it may turn out to be, so look
 * again soon; `none`: something speaks against it.
 */
export type SilenceVerdict =
  | { readonly kind: 'lost'; readonly witness: string; readonly onlySilent: boolean }
  | { readonly kind: 'undecided' | 'none' };

/**
 * Lost is a machine whose exporter has failed so many scrapes over `silentAfterSeconds` (those of the machine's other
 * targets count), and of which a witness says the same: everything else that is scraped on it fell silent too, or its
 * provider, asked since, does not call it running. The first alone looks the same where a machine reboots or its
 * network fails: it is enough to start another beside it, and not to end it. Against it speak: any target of the
 * machine that answers (the exporter was restarted), a stop or a scale-in of ours, a provider that calls it stopped
 * (somebody stopped it, unless it says that the cloud did) or whose group is whole without it, or that says that
 * somebody ended it, and a monitor that misses more machines than it reaches. The last is the rule of Kubernetes' node controller, which stops evictions
 * where most nodes of a small cluster are silent (kubernetes.io, "Nodes", Rate limits on eviction).
 * @param now epoch milliseconds
 */
export function judgeSilence(silence: Silence, now: number, params: SilenceParams = SILENCE_DEFAULTS): SilenceVerdict {
  const { othersAnswering, othersSilent, since, until, failures, machinesSilent, machinesAnswering } = silence;
  const isUnread = silence.machine === 'unread';
  const machine = silence.machine === 'unread' ? null : silence.machine;
  if (now - until > params.silenceStaleSeconds * 1000 || since > until) return { kind: 'none' };
  if (othersAnswering > 0) return { kind: 'none' };
  // What we let go leaves; it is not called running and unwell, as a member that stays and dies is.
  if (silence.takenAwayBy !== null && (machine === null || !isUnwell(machine))) return { kind: 'none' };
  if (machine !== null && isSpokenFor(machine)) return { kind: 'none' };
  if (machinesAnswering < machinesSilent) return { kind: 'undecided' };
  const missed = machine !== null && isMissed(machine);
  if (
    failures < (missed ? params.leastFailuresIfMissed : params.leastFailures) ||
    until - since < params.silentAfterSeconds * 1000
  )
    return { kind: 'undecided' };
  if (missed)
    return {
      kind: 'lost',
      onlySilent: false,
      witness:
        machine.state === 'unknown'
          ? 'its provider no longer reports it as running'
          : machine.ended?.by === 'cloud'
            ? `its cloud has ${machine.state === 'stopped' ? 'stopped it' : 'taken it away'} (${machine.ended.because})`
            : isUnwell(machine)
              ? `its cloud reports it as unhealthy (${machine.unwell})`
              : 'its provider no longer lists it',
    };
  // Somebody may just have stopped it, which only its provider can say.
  if (isUnread && now - since < params.unreadSeconds * 1000) return { kind: 'undecided' };
  if (othersSilent > 0) return { kind: 'lost', onlySilent: true, witness: sayOthers(othersSilent, silence.machine) };
  return { kind: 'undecided' };
}

function sayOthers(silent: number, machine: Silence['machine']): string {
  const others = silent === 1 ? 'the other target' : `all ${silent} other targets`;
  const provider =
    machine === null
      ? ''
      : machine === 'unread'
        ? ', and its provider could not be reached since'
        : `, while its provider reports it as ${machine.state}`;
  return `${others} of its machine became silent too${provider}`;
}

/**
 * The provider's own word that it is not there, or not well: gone (it says so, or two complete readings in a row miss
 * it: a list may lag behind), stopped by the cloud, NotReady (which reads `unknown`), or running on a host that fails its checks.
 */
const isMissed = (machine: MachineReading): boolean =>
  machine.state === 'gone' ||
  machine.state === 'unknown' ||
  (machine.state === 'stopped' && machine.ended?.by === 'cloud') ||
  isUnwell(machine);

const isUnwell = ({ state, unwell }: MachineReading): boolean => state === 'running' && typeof unwell === 'string';

const isTakenAway = (machine: MachineReading): boolean => isMissed(machine) && machine.groupIsWhole === true;

/**
 * A machine that a person stopped or ended is not lost. A machine that its cloud is reclaiming may be seen in between:
 * then it is not known yet whether it stops, to run again, or ends.
 */
const isSpokenFor = (machine: MachineReading): boolean =>
  machine.ended?.by === 'somebody' ||
  ((machine.state === 'stopped' || machine.state === 'stopping') && machine.ended?.by !== 'cloud') ||
  isTakenAway(machine);
