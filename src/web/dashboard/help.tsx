/**
 * Explains terms in place: a button that opens the meanings of one or more terms, from the keyboard too, and a page of
 * all of them. The texts are only in texts/english/glossary.ts and texts/chinese/glossary.ts.
 *
 * The browser's own popover (HTML, section "The popover attribute"): Enter opens it, Escape closes it, and the focus
 * returns to the button.
 */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { HelpTerm } from './help-terms.js';
import { say } from './language.js';
import { link } from './routes.js';

/** Terms and their meanings. */
export const Meanings = ({ of }: { readonly of: readonly HelpTerm[] }): JSX.Element => (
  <dl class="meanings">
    {of.map((term) => (
      <div key={term}>
        <dt>{say(`help.${term}`)}</dt>
        <dd>{say(`help.${term}-text`)}</dd>
      </div>
    ))}
  </dl>
);

export function Help({ of }: { readonly of: readonly HelpTerm[] }): JSX.Element {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const terms = of.map((term) => say(`help.${term}`)).join(say('list.comma'));
  return (
    <span class="help">
      <button type="button" class="quiet" popovertarget={id} aria-label={say('help.about', { terms })}>
        ?
      </button>
      <div
        id={id}
        popover="auto"
        role="group"
        aria-label={terms}
        onBeforeToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {isOpen ? (
          <>
            <Meanings of={of} />
            <p>
              <a href={link('help')}>{say('help.all')}</a>
            </p>
          </>
        ) : null}
      </div>
    </span>
  );
}
