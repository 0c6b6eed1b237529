/** What a form says of its draft: that it was brought back, and what others have saved since it began. */
import type { JSX } from 'preact';
import { Differences } from './differing.js';
import type { Draft } from './drafts.js';
import { say } from './language.js';

/** @param shown the part of the draft to compare */
export const DraftNotes = <T,>({
  draft,
  shown = (values) => values,
}: {
  readonly draft: Draft<T>;
  readonly shown?: (values: T) => unknown;
}): JSX.Element => (
  <div role="status">
    {draft.isBack ? <p class="warning">{say('draft.back')}</p> : null}
    {draft.others === null ? null : (
      <>
        <p class="warning">{say('draft.others')}</p>
        <Differences
          caption={say('draft.others-what')}
          changes={[{ before: shown(draft.others.before), after: shown(draft.others.after) }]}
        />
      </>
    )}
    {draft.isBack || draft.others !== null ? (
      <p>
        <button type="button" onClick={draft.drop}>
          {say('draft.drop')}
        </button>
      </p>
    ) : null}
  </div>
);
