/** Arabic: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'الإعداد',
  setUpWelcome: 'مرحبًا. يُنشأ هنا الحساب الذي يستلم المدفوعات، وتصبح أنت مالكه.',
  setUpCode: 'الرمز',
  setUpCodeHint: 'يعرضه بدء تشغيل الخدمة بعد علامة # في الرابط.',
  setUpShop: 'اسم متجرك',
  setUpYou: 'اسمك',
  setUpEmail: 'عنوان البريد الإلكتروني',
  setUpEmailHint: 'تُبلَّغ هناك التغييرات المهمة للأمان.',
  setUpKey: 'مفتاح API الخاص بك',
  setUpKeyWhy:
    'لا يستطيع هذا المتصفح إنشاء مفتاح مرور هنا: يلزم https أو localhost. سجّل الدخول بهذا المفتاح بدلًا من ذلك.',
  setUpPasskey: 'مفتاح المرور الخاص بك',
  setUpKeyInstead: 'استخدم مفتاح API بدلًا من ذلك',
};
