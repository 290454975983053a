/** Japanese: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: '初期設定',
  setUpWelcome: 'ようこそ。ここで支払いを受け取るアカウントを作成し、あなたがそのオーナーになります。',
  setUpCode: 'コード',
  setUpCodeHint: 'サービスの起動時に、リンクの # の後ろに表示されます。',
  setUpShop: 'お店の名前',
  setUpYou: 'お名前',
  setUpEmail: 'メールアドレス',
  setUpEmailHint: '安全に関わる変更をお知らせします。',
  setUpKey: 'あなたのAPIキー',
  setUpKeyWhy:
    'このブラウザーではここでパスキーを作成できません。https または localhost が必要です。代わりにこのキーでサインインします。',
  setUpPasskey: 'あなたのパスキー',
  setUpKeyInstead: '代わりにAPIキーを使う',
};
