/** Shows what the kill switch holds back, above every page, so that nobody waits for what cannot begin. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { get, refusal } from './api.js';
import { instant } from './format.js';
import { say } from './language.js';
import { repeats, useAnswer } from './loading.js';
import { place } from './router.js';
import { link } from './routes.js';
import type { Stops } from './answers.js';

type Stop = Stops['stops'][number];

const whatOf = ({ scope, name }: Stop): string =>
  scope === 'all' ? say('frame.stop-all') : say(`frame.stop-${scope}`, { name });

/** Loaded with every page, and after every change; the last answer stays until the next is there. */
function useStops(): readonly Stop[] {
  const { page, id } = place.value;
  const isShown = refusal('read') === null;
  const { data } = useAnswer(`stops ${page} ${id} ${isShown} ${repeats.value}`, async (halt) =>
    isShown ? (await get<Stops>('/v1/stop', {}, halt)).stops : [],
  );
  const last = useRef<readonly Stop[]>([]);
  if (data !== null) last.current = data;
  return last.current;
}

export function Stopped(): JSX.Element | null {
  const stops = useStops();
  if (stops.length === 0) return null;
  return (
    <div class="warning" role="status">
      {stops.map((stop) => (
        <p key={`${stop.scope} ${stop.name}`}>
          <strong>{whatOf(stop)}</strong> {say('frame.stop-by', { at: instant(stop.setAt), who: stop.setBy })}
          {stop.reason === '' ? null : `: ${stop.reason}`}
        </p>
      ))}
      <a href={link('settings', 'stop')}>{say('frame.stop-open')}</a>
    </div>
  );
}
