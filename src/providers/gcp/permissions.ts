/**
 * Checks which of Google Cloud's permissions the credentials have, by asking Resource Manager: it names the permissions
 * of a list that the caller has on the project, and changes nothing.
 *
 * The invariant: a permission that it does not know is unknown. A permission that is granted only on single machines is
 * not visible here. Source: Resource Manager API v3, projects.testIamPermissions.
 */
import { permitted, type Use } from '../rpc.js';
import type { ProviderSetting } from '../../core/setting.js';
import type { GoogleClient } from './client.js';
import { OPERATIONS } from './operations.js';

/** As ProviderConnection.granted says: of the first of the projects. @throws Failure */
export async function granted(
  client: GoogleClient,
  permission: string,
  use: ProviderSetting['use'],
): Promise<boolean | null> {
  if (use === 'act' && client.settings.act === null) return null;
  const [project] = client.settings.projects;
  if (project === undefined) return null;
  let has = false;
  const answered = await permitted(async () => {
    const args = { path: { resource: `projects/${project}` }, body: { permissions: [permission] } };
    const reply = await client.call(OPERATIONS.testPermissions, args, use satisfies Use);
    has = OPERATIONS.testPermissions.reply.parse(reply).permissions?.includes(permission) ?? false;
  });
  // Whether this question may be asked says nothing of the permission that it asks about.
  return answered === true ? has : null;
}
