/** Spanish: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Configurar',
  setUpWelcome: 'Le damos la bienvenida. Aquí se crea la cuenta que recibe los pagos, y usted será su propietario.',
  setUpCode: 'Código',
  setUpCodeHint: 'El inicio del servicio lo muestra, detrás de la # del enlace.',
  setUpShop: 'Nombre de su tienda',
  setUpYou: 'Su nombre',
  setUpEmail: 'Correo electrónico',
  setUpEmailHint: 'Allí se avisa de los cambios importantes para la seguridad.',
  setUpKey: 'Su clave de API',
  setUpKeyWhy:
    'Este navegador no puede crear aquí una clave de acceso: hace falta https o localhost. En su lugar, inicie sesión con esta clave.',
  setUpPasskey: 'Su clave de acceso',
  setUpKeyInstead: 'Usar una clave de API en su lugar',
};
