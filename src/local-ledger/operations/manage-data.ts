/** manage_data: sets or removes a named value of an account; `config.memo_required` (SEP-29) is the
 *  one that matters here. */
import { xdr } from '@stellar/stellar-sdk/base';
import { dataKey } from '../entries.js';
import { MAX_SUBENTRIES } from './change-trust.js';
import { inner, type OperationKind } from './kind.js';
import { countEntry, release, reserve } from './sponsorship.js';

const { ManageDataResult } = xdr;
const result = (of: xdr.ManageDataResult) => inner(xdr.OperationResultTr.manageData(of));

const nameOf = (body: xdr.ManageDataOp): string => Buffer.from(body.dataName.bytes).toString('latin1');
const valueIn = (body: xdr.ManageDataOp): string | null =>
  body.dataValue === null ? null : Buffer.from(body.dataValue.value).toString('base64');

export const manageData: OperationKind<xdr.ManageDataOp> = {
  type: 'manage_data',
  typeIndex: 10,
  isPayment: false,
  level: () => 'medium',
  keys: (body, source) => [dataKey(source, nameOf(body))],
  participants: () => [],
  check: (body) => (/^[\x20-\x7e]{1,64}$/.test(nameOf(body)) ? null : result(ManageDataResult.manageDataInvalidName())),
  apply(body, source, context) {
    const { view, ledger, effects: done } = context;
    const name = nameOf(body);
    const value = valueIn(body);
    const owner = view.account(source)!;
    const entry = view.data(source, name);
    if (value === null) {
      if (entry === null) return result(ManageDataResult.manageDataNameNotFound());
      view.remove(entry._id);
      release(view, entry.sponsor, 1);
      view.update(view.account(source)!, (copy) => countEntry(copy, -1, entry.sponsor));
      done.push({ type: 'data_removed', type_i: 41, account: source, name });
    } else if (entry !== null) {
      view.update(entry, (copy) => {
        copy.value = value;
      });
      done.push({ type: 'data_updated', type_i: 42, account: source, name, value });
    } else {
      if (owner.subentries >= MAX_SUBENTRIES) return xdr.OperationResult.opTooManySubentries();
      const sponsor = reserve(context, source, 1);
      if (sponsor === undefined) return result(ManageDataResult.manageDataLowReserve());
      view.put({
        _id: dataKey(source, name),
        kind: 'data',
        owner: source,
        name,
        value,
        ...(sponsor && { sponsor }),
        modified: { ledger: ledger.sequence, time: ledger.closeTime },
      });
      view.update(owner, (copy) => countEntry(copy, 1, sponsor));
      done.push({ type: 'data_created', type_i: 40, account: source, name, value });
    }
    return result(ManageDataResult.manageDataSuccess());
  },
  details: (body) => ({ name: nameOf(body), value: valueIn(body) ?? '' }),
};
