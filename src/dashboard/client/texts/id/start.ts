/** Indonesian: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Penyiapan',
  setUpWelcome: 'Selamat datang. Di sini dibuat akun yang menerima pembayaran, dan Anda menjadi pemiliknya.',
  setUpCode: 'Kode',
  setUpCodeHint: 'Layanan menampilkannya saat dimulai, di belakang # pada tautan.',
  setUpShop: 'Nama toko Anda',
  setUpYou: 'Nama Anda',
  setUpEmail: 'Alamat email',
  setUpEmailHint: 'Perubahan yang penting bagi keamanan diberitahukan ke sana.',
  setUpKey: 'Kunci API Anda',
  setUpKeyWhy:
    'Peramban ini tidak dapat membuat kunci sandi di sini: diperlukan https atau localhost. Sebagai gantinya, masuk dengan kunci ini.',
  setUpPasskey: 'Kunci sandi Anda',
  setUpKeyInstead: 'Gunakan kunci API saja',
};
