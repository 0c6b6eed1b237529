/** What only readers of Chinese need: a part of the program of its own, loaded when it is read in (language.ts). */
export { inChinese } from '../../core/report/reworded.js';
export { CHINESE } from './texts/chinese.js';
export { DESCRIPTIONS, PARAMETERS } from './texts/policies-chinese.js';
export { FIELD_NAMES, FIELD_NOTES, FIELD_VALUES } from './texts/settings-fields-chinese.js';
