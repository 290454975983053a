/** Turkish: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Kurulum',
  setUpWelcome: 'Hoş geldiniz. Burada ödemeleri alan hesap oluşturulur ve siz onun sahibi olursunuz.',
  setUpCode: 'Kod',
  setUpCodeHint: 'Hizmet başlarken bağlantıdaki # işaretinin ardında yazar.',
  setUpShop: 'Mağazanızın adı',
  setUpYou: 'Adınız',
  setUpEmail: 'E-posta adresi',
  setUpEmailHint: 'Güvenlik için önemli değişiklikler oraya bildirilir.',
  setUpKey: 'API anahtarınız',
  setUpKeyWhy:
    'Bu tarayıcı burada geçiş anahtarı oluşturamaz: bunun için https veya localhost gerekir. Bunun yerine bu anahtarla oturum açın.',
  setUpPasskey: 'Geçiş anahtarınız',
  setUpKeyInstead: 'Bunun yerine API anahtarı kullan',
};
