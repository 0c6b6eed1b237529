/**
 * The verbs on this machine's database. The command line is its administrator: nothing is refused for want of a role,
 * and every write is audited in its own transaction under the name of the operating system's user.
 */
import { previewChange, type AllocationRule } from '../core/allocation.js';
