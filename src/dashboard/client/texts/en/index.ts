/** English, and by its keys and placeholders the list of all texts of the dashboard. */
import { speak } from '../texts.js';
import { access } from './access.js';
import { frame } from './frame.js';
import { money } from './money.js';
import { orders } from './orders.js';
import { selling } from './selling.js';
import { states } from './states.js';

export const en = { ...frame, ...states, ...selling, ...orders, ...money, ...access } as const;
speak('en', en);
