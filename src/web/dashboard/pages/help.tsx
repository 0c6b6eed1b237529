/** The meanings of the terms on the other pages. */
import type { JSX } from 'preact';
import { HELP_TERMS } from '../help-terms.js';
import { Meanings } from '../help.js';
import { say } from '../language.js';
import { Card, Page } from '../ui.js';

export const HelpPage = (): JSX.Element => (
  <Page title={say('page.help')} lead={say('help.lead')}>
    <Card title={say('help.all')}>
      <Meanings of={HELP_TERMS} />
    </Card>
  </Page>
);
