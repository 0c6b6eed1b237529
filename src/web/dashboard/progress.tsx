/**
 * Progress of long work, from the server's events (EventSource; WHATWG HTML, "Server-sent events"). The browser opens a
 * broken stream again; a stream that the server ends is over.
 */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { code, within } from './format.js';
import { joined, say } from './language.js';
import { Rich } from './rich.js';

interface Load {
  readonly waiting: number;
  readonly parked: number;
  readonly stages: readonly { readonly stage: string; readonly waiting: number }[];
}

type End = 'done' | 'slow' | 'lost';

/** What the line still has to do after a change, until nothing waits. */
export function LineProgress({ onDone }: { readonly onDone: () => void }): JSX.Element {
  const [load, setLoad] = useState<Load | null>(null);
  const [most, setMost] = useState(0);
  const [end, setEnd] = useState<End | null>(null);
  useEffect(() => {
    const source = new EventSource('/v1/work/progress');
    const finish = (how: End): void => {
      source.close();
      setEnd(how);
      onDone();
    };
    source.addEventListener('load', (event) => {
      const next = JSON.parse((event as MessageEvent<string>).data) as Load;
      setLoad(next);
      setMost((old) => Math.max(old, next.waiting));
    });
    source.addEventListener('done', () => finish('done'));
    source.addEventListener('slow', () => finish('slow'));
    source.addEventListener('error', () => source.readyState === EventSource.CLOSED && finish('lost'));
    return () => source.close();
  }, []);
  const waiting = load?.waiting ?? null;
  return (
    <div class="progress">
      {end === null && most > 0 && waiting !== null ? (
        <progress max={most} value={most - waiting} aria-label={say('progress.label')} />
      ) : null}
      <p role="status" aria-live="polite">
        {end !== null
          ? say(`progress.${end}`)
          : load === null
            ? say('progress.begins')
            : say('progress.waiting', {
                n: load.waiting,
                stages: joined(
                  load.stages
                    .filter((one) => one.waiting > 0)
                    .map(({ stage, waiting: n }) => say('progress.stage', { stage: within(code('stage', stage)), n })),
                ),
              })}
      </p>
      {load !== null && load.parked > 0 ? (
        <p class="warning">
          <Rich of="progress.parked" given={{ n: load.parked }} />
        </p>
      ) : null}
    </div>
  );
}
