/** Chinese. */
import { type English, type Like, speak } from '../texts.js';
import { access } from './access.js';
import { frame } from './frame.js';
import { money } from './money.js';
import { orders } from './orders.js';
import { selling } from './selling.js';
import { states } from './states.js';

export const zh: Like<English> = { ...frame, ...states, ...selling, ...orders, ...money, ...access };
speak('zh', zh);
