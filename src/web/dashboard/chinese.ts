/** What only readers of Chinese need: a part of the program of its own, loaded when it is read in (language.ts). */
export { inChinese } from '../../core/report/reworded.js';
export { CHINESE } from './texts/chinese.js';
