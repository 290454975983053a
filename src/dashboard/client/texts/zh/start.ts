/** Chinese: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: '初始设置',
  setUpWelcome: '欢迎。这里将创建接收付款的账户，您将成为其所有者。',
  setUpCode: '代码',
  setUpCodeHint: '服务启动时会显示它，位于链接的 # 之后。',
  setUpShop: '您的店铺名称',
  setUpYou: '您的姓名',
  setUpEmail: '电子邮件地址',
  setUpEmailHint: '与安全有关的更改会通知到该地址。',
  setUpKey: '您的 API 密钥',
  setUpKeyWhy: '此浏览器在这里无法创建通行密钥：需要 https 或 localhost。请改用此密钥登录。',
  setUpPasskey: '您的通行密钥',
  setUpKeyInstead: '改用 API 密钥',
};
