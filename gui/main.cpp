// SPDX-License-Identifier: Apache-2.0
#include <QApplication>

#include "gui/views/registry.hpp"

int main(int argc, char** argv) {
  const QApplication application{argc, argv};
  return QApplication::exec();
}
