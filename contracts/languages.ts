/** Languages of pages, receipts, the dashboard and e-mails. */
import { z } from 'zod';

export const LANGUAGES = ['en', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'tr', 'id', 'ja', 'zh', 'ar'] as const;
export type Language = (typeof LANGUAGES)[number];

export const languageSchema = z.enum(LANGUAGES).meta({ id: 'Language', description: 'ISO 639-1.', examples: ['de'] });
