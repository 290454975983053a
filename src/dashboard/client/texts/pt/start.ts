/** Portuguese: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Configurar',
  setUpWelcome: 'Boas-vindas. Isto cria a conta que recebe os pagamentos e faz de si o proprietário.',
  setUpCode: 'Código',
  setUpCodeHint: 'O arranque do serviço mostra-o, depois do # da ligação.',
  setUpShop: 'Nome da sua loja',
  setUpYou: 'O seu nome',
  setUpEmail: 'Endereço de e-mail',
  setUpEmailHint: 'As alterações importantes para a segurança são comunicadas aí.',
  setUpKey: 'A sua chave de API',
  setUpKeyWhy:
    'Este navegador não consegue criar aqui uma chave de acesso: é preciso https ou localhost. Em vez disso, inicie sessão com esta chave.',
  setUpPasskey: 'A sua chave de acesso',
  setUpKeyInstead: 'Usar antes uma chave de API',
};
