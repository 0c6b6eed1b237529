/**
 * A question before something is done. It takes the focus; Escape leaves it; and when it goes the focus is again where
 * it was.
 */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { say } from './language.js';
import { Act, Form } from './ui.js';

export function Ask({
  name,
  yes,
  tone = 'danger',
  isBusy,
  onYes,
  onLeave,
  children,
}: {
  /** The question, as it is read out. */
  readonly name: string;
  /** What the first button says. */
  readonly yes: string;
  readonly tone?: 'primary' | 'danger';
  readonly isBusy: boolean;
  readonly onYes: () => void;
  readonly onLeave: () => void;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current?.focus();
    return () =>
      queueMicrotask(() => {
        if (document.activeElement === document.body && before instanceof HTMLElement) before.focus();
      });
  }, []);
  return (
    <div
      ref={box}
      class="ask"
      role="group"
      aria-label={name}
      tabIndex={-1}
      onKeyDown={({ key }) => key === 'Escape' && onLeave()}
    >
      <Form onSend={onYes}>
        {children}
        <div class="buttons">
          <Act tone={tone} isBusy={isBusy}>
            {yes}
          </Act>
          <button type="button" onClick={onLeave}>
            {say('leave')}
          </button>
        </div>
      </Form>
    </div>
  );
}
