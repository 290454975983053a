/** The last answer of each source of rates that may seldom be asked. */
import mongoose from 'mongoose';
import { isDuplicateKey, PART_OPTIONS, SCHEMA_OPTIONS } from '../kit/database.js';

/** `rate` as the source wrote it. */
export interface StoredQuote {
  currency: string;
  rate: string;
  at: Date;
}

interface RateAnswerDoc {
  /** The source's name. */
  _id: string;
  askedAt: Date;
  /** Currencies that it was asked for. */
  wanted: readonly string[];
  /** It did not answer, or not yet: the quotes are those of before. */
  failed: boolean;
  quotes: readonly StoredQuote[];
}

const rateAnswerSchema = new mongoose.Schema<RateAnswerDoc>(
  {
    _id: String,
    askedAt: Date,
    wanted: [String],
    failed: Boolean,
    quotes: [new mongoose.Schema({ currency: String, rate: String, at: Date }, PART_OPTIONS)],
  },
  { ...SCHEMA_OPTIONS, collection: 'rateAnswers' },
);

/** When a source was asked that never was. */
const LONG_AGO = new Date(0);

export type RateAnswerStore = ReturnType<typeof createRateAnswerStore>;

export function createRateAnswerStore(connection: mongoose.Connection) {
  const answers = connection.model<RateAnswerDoc>('RateAnswer', rateAnswerSchema);
  return {
    of: (source: string) => answers.findById(source).lean<RateAnswerDoc>().exec(),
    /** Before the source is asked: of those who would ask it at the same time one does. @param before as it was read; null for none */
    async claim(answer: RateAnswerDoc, before: RateAnswerDoc | null): Promise<boolean> {
      const { _id, ...rest } = answer;
      try {
        const filter = before ? { _id, askedAt: before.askedAt } : { _id, askedAt: LONG_AGO };
        const { matchedCount, upsertedCount } = await answers.updateOne(filter, { $set: rest }, { upsert: !before });
        return matchedCount + upsertedCount > 0;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async save({ _id, ...answer }: RateAnswerDoc): Promise<void> {
      await answers.updateOne({ _id }, { $set: answer }, { upsert: true });
    },
  };
}
