/** The connection to MongoDB keeps its promises on a real one. */
import t from 'tap';
import { connectDatabase } from '../../src/stores/database.js';
import { testDatabase } from '../helpers/mongo.js';

t.test('a transaction begins no earlier than what was read before it', async (t) => {
  const { uri } = await testDatabase(t);
  const { connection, transaction, close } = await connectDatabase(uri);
  t.teardown(close);
  for (let round = 0; round < 3; round++) {
    await connection.db!.collection('things').insertOne({ round });
    const { operationTime } = await connection.db!.command({ count: 'things' });
    await transaction(async (session) => {
      t.ok(session.operationTime!.greaterThanOrEqual(operationTime), 'before its first operation');
      t.equal(await connection.db!.collection('things').countDocuments({}, { session }), round + 1);
    });
  }
});
